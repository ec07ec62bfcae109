// family.h -- the model families of Hugging Face's transformers that shoal's decoder supports.
#pragma once

#include <array>
#include <string_view>

#include "shoal/config/model_config.h"

namespace shoal::hugging_face {

enum class Family { kGpt2, kLlama, kOlmo, kOlmo2, kQwen2, kQwen3 };

struct FamilyNames {
  Family family;
  std::string_view model_type;    // in config.json
  std::string_view architecture;  // the class in transformers
};

inline constexpr std::array<FamilyNames, 6> kFamilies = {{
    {Family::kGpt2, "gpt2", "GPT2LMHeadModel"},
    {Family::kLlama, "llama", "LlamaForCausalLM"},
    {Family::kOlmo, "olmo", "OlmoForCausalLM"},
    {Family::kOlmo2, "olmo2", "Olmo2ForCausalLM"},
    {Family::kQwen2, "qwen2", "Qwen2ForCausalLM"},
    {Family::kQwen3, "qwen3", "Qwen3ForCausalLM"},
}};

// Returns the family that matches a model. Throws UsageError with the keys that no family allows
// together.
Family family_of(const config::ModelConfig& config);

}  // namespace shoal::hugging_face
