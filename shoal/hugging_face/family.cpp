#include "shoal/hugging_face/family.h"

#include "shoal/core/error.h"

namespace shoal::hugging_face {
namespace {

using config::Activation;
using config::BiasOn;
using config::ModelConfig;
using config::NormKind;
using config::NormPlace;
using config::Positions;
using config::QkNorm;

bool is_gpt2(const ModelConfig& c) {
  return c.positions == Positions::kLearned && c.norm == NormKind::kLayer &&
         c.norm_place == NormPlace::kBefore && c.qk_norm == QkNorm::kNone &&
         c.activation != Activation::kSwiglu && c.bias != BiasOn::kQkv &&
         c.num_kv_heads() == c.heads && c.features_per_head() * c.heads == c.width;
}

bool is_llama_like(const ModelConfig& c) {
  return c.positions == Positions::kRotary && c.activation == Activation::kSwiglu && c.dropout == 0;
}

}  // namespace

Family family_of(const ModelConfig& c) {
  if (is_gpt2(c)) return Family::kGpt2;
  const bool even = c.features_per_head() * c.heads == c.width;
  if (is_llama_like(c)) {
    const bool rms_before = c.norm == NormKind::kRms && c.norm_place == NormPlace::kBefore;
    if (rms_before && c.qk_norm == QkNorm::kNone && c.bias != BiasOn::kQkv) return Family::kLlama;
    if (rms_before && c.qk_norm == QkNorm::kNone && even) return Family::kQwen2;
    if (rms_before && c.qk_norm == QkNorm::kHead && c.bias == BiasOn::kNone) return Family::kQwen3;
    if (c.norm == NormKind::kRms && c.norm_place == NormPlace::kAfter &&
        c.qk_norm == QkNorm::kWidth && c.bias == BiasOn::kNone && even)
      return Family::kOlmo2;
    if (c.norm == NormKind::kPlain && c.norm_place == NormPlace::kBefore &&
        c.qk_norm == QkNorm::kNone && c.bias == BiasOn::kNone && even && c.norm_epsilon == 1e-5)
      return Family::kOlmo;
  }
  throw UsageError(
      "no family of Hugging Face's has this model's combination of positions, norm, norm_place, "
      "qk_norm, activation, bias and heads: GPT-2 is learned, layer, before, none, gelu, all or "
      "none; "
      "Llama, "
      "OLMo, OLMo 2 and Qwen are rotary with swiglu (configs/ has one of each)");
}

}  // namespace shoal::hugging_face
