// config_json.h -- converts a model's config between shoal's keys and the config.json of Hugging
// Face.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/config/model_config.h"
#include "shoal/hugging_face/family.h"

namespace shoal::hugging_face {

struct DescribedModel {
  Family family;
  config::ModelConfig config;  // complete: `auto` remains only where it makes no difference
};

constexpr const char* kConfigJson = "config.json";

// Parses a config.json. Throws a DataError that begins with `name` for invalid JSON, an unknown
// family, or a setting that shoal's decoder does not support (it is never ignored).
DescribedModel read_config_json(std::string_view json, const std::string& name);

// Reads the config.json of a directory.
DescribedModel read_config(const std::filesystem::path& directory);

// Returns the text of a config.json. `dtype` is that of the tensors beside it: "float32",
// "bfloat16", ...
std::string write_config_json(const DescribedModel& model, std::string_view dtype);

}  // namespace shoal::hugging_face
