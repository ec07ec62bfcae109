// model_config.h -- the shape of a decoder. One list covers GPT, GPT-2, Llama, OLMo 1 and 2, Qwen 2.5
// and 3; configs/ holds one file for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shoal/config/value.h"

namespace shoal::config {

class FieldList;

// The kinds of units that make up a decoder.
enum class UnitKind { kEmbedding, kBlock, kHead };
enum class Positions { kLearned, kSinusoidal, kRotary };
enum class NormKind { kLayer, kRms, kPlain };
enum class NormPlace { kBefore, kAfter };
enum class Activation { kGelu, kGeluTanh, kSwiglu };
enum class BiasOn { kAll, kQkv, kNone };
enum class QkNorm { kNone, kWidth, kHead };
enum class RotaryScaling { kNone, kLinear, kLlama3 };

template <>
inline constexpr std::array kNames<Positions> = {Named{"learned", Positions::kLearned},
                                                 Named{"sinusoidal", Positions::kSinusoidal},
                                                 Named{"rotary", Positions::kRotary}};

template <>
inline constexpr std::array kNames<NormKind> = {Named{"layer", NormKind::kLayer},
                                                Named{"rms", NormKind::kRms},
                                                Named{"plain", NormKind::kPlain}};

template <>
inline constexpr std::array kNames<NormPlace> = {Named{"before", NormPlace::kBefore},
                                                 Named{"after", NormPlace::kAfter}};

template <>
inline constexpr std::array kNames<Activation> = {Named{"gelu", Activation::kGelu},
                                                  Named{"gelu_tanh", Activation::kGeluTanh},
                                                  Named{"swiglu", Activation::kSwiglu}};

template <>
inline constexpr std::array kNames<BiasOn> = {
    Named{"all", BiasOn::kAll}, Named{"qkv", BiasOn::kQkv}, Named{"none", BiasOn::kNone}};

template <>
inline constexpr std::array kNames<QkNorm> = {
    Named{"none", QkNorm::kNone}, Named{"width", QkNorm::kWidth}, Named{"head", QkNorm::kHead}};

template <>
inline constexpr std::array kNames<RotaryScaling> = {Named{"none", RotaryScaling::kNone},
                                                     Named{"linear", RotaryScaling::kLinear},
                                                     Named{"llama3", RotaryScaling::kLlama3}};

struct RotaryConfig {
  double theta = 10'000;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 8;
  double low_frequency = 1;
  double high_frequency = 4;
  int64_t original_context = 8192;
};

void list_fields(RotaryConfig& config, FieldList& list);

struct ModelConfig {
  int layers = 12;
  int64_t width = 768;
  int heads = 12;
  std::optional<int> kv_heads = std::nullopt;
  std::optional<int64_t> head_width = std::nullopt;
  std::optional<int64_t> hidden = std::nullopt;
  int64_t context = 1024;
  std::optional<int64_t> vocab_size = std::nullopt;
  Positions positions = Positions::kLearned;
  RotaryConfig rotary;
  NormKind norm = NormKind::kLayer;
  NormPlace norm_place = NormPlace::kBefore;
  double norm_epsilon = 1e-5;
  QkNorm qk_norm = QkNorm::kNone;
  Activation activation = Activation::kGeluTanh;
  BiasOn bias = BiasOn::kAll;
  bool tied = true;
  double dropout = 0;
  double init_std = 0.02;

  // The values that `auto` resolves to.
  [[nodiscard]] int num_kv_heads() const { return kv_heads.value_or(heads); }
  [[nodiscard]] int64_t features_per_head() const { return head_width.value_or(width / heads); }
  [[nodiscard]] int64_t hidden_width() const { return hidden.value_or(4 * width); }
};

void list_fields(ModelConfig& config, FieldList& list);

}  // namespace shoal::config
