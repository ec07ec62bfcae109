#include "shoal/config/model_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(RotaryConfig& config, FieldList& list) {
  list.add("theta", config.theta, "base of the wavelengths", between(1.0, 1e12));
  list.add(
      "scaling", config.scaling,
      "how angles are stretched for contexts longer than the first training: linear divides all "
      "by factor, llama3 only the long waves");
  list.add("factor", config.factor, "by how much scaling stretches", between(1.0, 1e6));
  list.add("low_frequency", config.low_frequency,
           "llama3: waves longer than original_context / this are stretched fully",
           between(1e-3, 1e6));
  list.add("high_frequency", config.high_frequency,
           "llama3: waves shorter than original_context / this are left alone", between(1e-3, 1e6));
  list.add("original_context", config.original_context, "llama3: context of the first training",
           between(int64_t{1}, int64_t{1} << 30));
}

void list_fields(ModelConfig& config, FieldList& list) {
  list.add("layers", config.layers, "decoder blocks", between(1, 10'000));
  list.add("width", config.width, "features of a token between blocks",
           between(int64_t{1}, int64_t{1} << 20));
  list.add("heads", config.heads, "attention heads", between(1, 1 << 16));
  list.add("kv_heads", config.kv_heads,
           "heads of keys and values, each shared by heads / kv_heads queries; auto: heads",
           between(1, 1 << 16));
  list.add("head_width", config.head_width, "features of a head; auto: width / heads",
           between(int64_t{1}, int64_t{1} << 16));
  list.add("hidden", config.hidden, "features inside the MLP; auto: 4 * width",
           between(int64_t{1}, int64_t{1} << 24));
  list.add("context", config.context, "tokens of a sequence",
           between(int64_t{1}, int64_t{1} << 30));
  list.add("vocab_size", config.vocab_size, "rows of the embedding; auto: the data's vocabulary",
           between(int64_t{1}, int64_t{1} << 31));
  list.add("positions", config.positions, "how a token knows its place");
  list.add("rotary", config.rotary, "angles, with `positions: rotary`");
  list.add("norm", config.norm, "layer and rms have weights, plain is a layer norm without");
  list.add("norm_place", config.norm_place,
           "of attention and MLP: before, or after them and in front of the residual sum");
  list.add("norm_epsilon", config.norm_epsilon, "added to a variance", between(0.0, 1.0));
  list.add("qk_norm", config.qk_norm,
           "normalizes queries and keys, by rms: over all heads together, or each head");
  list.add("activation", config.activation,
           "of the MLP; swiglu has a gate beside its first matrix");
  list.add("bias", config.bias, "which linear layers add one; layer norms do with `all`");
  list.add("tied", config.tied, "the head is the embedding's matrix");
  list.add("dropout", config.dropout,
           "share of activations that are left out: embedding, attention, both residual sums",
           between(0.0, 0.99));
  list.add("init_std", config.init_std,
           "spread of new weights; of those that write to the residual sum divided by "
           "sqrt(2 * layers)",
           between(0.0, 10.0));
}

}  // namespace shoal::config
