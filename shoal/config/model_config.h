// model_config.h -- the shape of a decoder. One list covers GPT, GPT-2, Llama, OLMo 1 and 2, Qwen 2.5
// and 3; configs/ holds one file for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"

namespace shoal::config {

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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("theta", self.theta, "base of the wavelengths", between(1.0, 1e12));
    visit(
        "scaling", self.scaling,
        "how angles are stretched for contexts longer than the first training: linear divides all "
        "by factor, llama3 only the long waves");
    visit("factor", self.factor, "by how much scaling stretches", between(1.0, 1e6));
    visit("low_frequency", self.low_frequency,
          "llama3: waves longer than original_context / this are stretched fully",
          between(1e-3, 1e6));
    visit("high_frequency", self.high_frequency,
          "llama3: waves shorter than original_context / this are left alone", between(1e-3, 1e6));
    visit("original_context", self.original_context, "llama3: context of the first training",
          between(int64_t{1}, int64_t{1} << 30));
  }
};

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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("layers", self.layers, "decoder blocks", between(1, 10'000));
    visit("width", self.width, "features of a token between blocks",
          between(int64_t{1}, int64_t{1} << 20));
    visit("heads", self.heads, "attention heads", between(1, 1 << 16));
    visit("kv_heads", self.kv_heads,
          "heads of keys and values, each shared by heads / kv_heads queries; auto: heads",
          between(1, 1 << 16));
    visit("head_width", self.head_width, "features of a head; auto: width / heads",
          between(int64_t{1}, int64_t{1} << 16));
    visit("hidden", self.hidden, "features inside the MLP; auto: 4 * width",
          between(int64_t{1}, int64_t{1} << 24));
    visit("context", self.context, "tokens of a sequence", between(int64_t{1}, int64_t{1} << 30));
    visit("vocab_size", self.vocab_size, "rows of the embedding; auto: the data's vocabulary",
          between(int64_t{1}, int64_t{1} << 31));
    visit("positions", self.positions, "how a token knows its place");
    visit("rotary", self.rotary, "angles, with `positions: rotary`");
    visit("norm", self.norm, "layer and rms have weights, plain is a layer norm without");
    visit("norm_place", self.norm_place,
          "of attention and MLP: before, or after them and in front of the residual sum");
    visit("norm_epsilon", self.norm_epsilon, "added to a variance", between(0.0, 1.0));
    visit("qk_norm", self.qk_norm,
          "normalizes queries and keys, by rms: over all heads together, or each head");
    visit("activation", self.activation, "of the MLP; swiglu has a gate beside its first matrix");
    visit("bias", self.bias, "which linear layers add one; layer norms do with `all`");
    visit("tied", self.tied, "the head is the embedding's matrix");
    visit("dropout", self.dropout,
          "share of activations that are left out: embedding, attention, both residual sums",
          between(0.0, 0.99));
    visit("init_std", self.init_std,
          "spread of new weights; of those that write to the residual sum divided by "
          "sqrt(2 * layers)",
          between(0.0, 10.0));
  }

  // The values that `auto` resolves to.
  [[nodiscard]] int num_kv_heads() const { return kv_heads.value_or(heads); }
  [[nodiscard]] int64_t features_per_head() const { return head_width.value_or(width / heads); }
  [[nodiscard]] int64_t hidden_width() const { return hidden.value_or(4 * width); }
};

}  // namespace shoal::config
