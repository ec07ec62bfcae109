// config_json.h -- a model's shape between shoal's keys and the config.json of Hugging Face.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/config/model_config.h"
#include "shoal/state/hugging_face/family.h"

namespace shoal::state {

struct HuggingFaceModel {
  Family family;
  config::ModelConfig config;  // complete: nothing is auto but what is the same either way
};

constexpr const char* kConfigJson = "config.json";

// DataError begins with `name`: no JSON, a family that is not known, or a setting that shoal's decoder
// does not have (it is never ignored).
HuggingFaceModel read_config_json(std::string_view json, const std::string& name);

// What the config.json of a directory says.
HuggingFaceModel read_hugging_face_config(const std::filesystem::path& directory);

// `dtype` of the tensors beside it: "float32", "bfloat16", ...
std::string write_config_json(const HuggingFaceModel& model, std::string_view dtype);

}  // namespace shoal::state
