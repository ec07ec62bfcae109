#include "shoal/hugging_face/names.h"

#include <charconv>
#include <utility>

#include "shoal/core/error.h"

namespace shoal::hugging_face {
namespace {

using config::ModelConfig;

// "blocks.3.mlp.down.weight" as 3, "mlp.down", "weight".
struct Place {
  std::string block;
  std::string layer;
  std::string kind;  // weight or bias
};

Place place_of(std::string_view name) {
  Place place;
  const size_t last = name.rfind('.');
  SHOAL_CHECK(last != std::string_view::npos, "{} is no name of a weight", name);
  place.kind = name.substr(last + 1);
  std::string_view rest = name.substr(0, last);
  constexpr std::string_view kBlocks = "blocks.";
  if (rest.substr(0, kBlocks.size()) == kBlocks) {
    rest.remove_prefix(kBlocks.size());
    const size_t dot = rest.find('.');
    place.block = rest.substr(0, dot);
    rest.remove_prefix(dot + 1);
  }
  place.layer = rest;
  return place;
}

struct Pair {
  std::string_view ours;
  std::string_view theirs;
};

constexpr Pair kGpt2[] = {
    {"embedding.tokens", "transformer.wte"},
    {"embedding.positions", "transformer.wpe"},
    {"attention_norm", "ln_1"},
    {"attention.qkv", "attn.c_attn"},
    {"attention.out", "attn.c_proj"},
    {"mlp_norm", "ln_2"},
    {"mlp.up", "mlp.c_fc"},
    {"mlp.down", "mlp.c_proj"},
    {"head.norm", "transformer.ln_f"},
    {"head.logits", "lm_head"},
};

constexpr Pair kLlama[] = {
    {"embedding.tokens", "model.embed_tokens"},
    {"attention_norm", "input_layernorm"},
    {"attention.out", "self_attn.o_proj"},
    {"attention.q_norm", "self_attn.q_norm"},
    {"attention.k_norm", "self_attn.k_norm"},
    {"mlp_norm", "post_attention_layernorm"},
    {"mlp.down", "mlp.down_proj"},
    {"head.norm", "model.norm"},
    {"head.logits", "lm_head"},
};

// Norms stand behind attention and MLP.
constexpr Pair kOlmo2[] = {
    {"attention_norm", "post_attention_layernorm"},
    {"mlp_norm", "post_feedforward_layernorm"},
};

template <size_t N>
std::string_view look_up(const Pair (&pairs)[N], std::string_view layer) {
  for (const Pair& pair : pairs) {
    if (pair.ours == layer) return pair.theirs;
  }
  return {};
}

std::string whole_name(std::string_view blocks, const Place& place, std::string_view layer) {
  if (place.block.empty()) return format("{}.{}", layer, place.kind);
  return format("{}.{}.{}.{}", blocks, place.block, layer, place.kind);
}

ForeignTensor gpt2_tensor(const Place& place, std::string_view name) {
  const std::string_view layer = look_up(kGpt2, place.layer);
  if (layer.empty()) throw BugError(format("GPT-2 has no {}", name));
  const bool matrix_of_block =
      place.kind == "weight" && place.layer.find('.') != std::string::npos && !place.block.empty();
  return {.parts = {{whole_name("transformer.h", place, layer), 0}}, .transposed = matrix_of_block};
}

ForeignTensor llama_tensor(Family family,
                           const ModelConfig& config,
                           const Place& place,
                           std::string_view name) {
  const auto part = [&](std::string_view layer, int64_t rows) {
    return ForeignPart{whole_name("model.layers", place, layer), rows};
  };
  const int64_t head = config.features_per_head();
  if (place.layer == "attention.qkv") {
    return {{part("self_attn.q_proj", config.heads * head),
             part("self_attn.k_proj", config.num_kv_heads() * head),
             part("self_attn.v_proj", config.num_kv_heads() * head)}};
  }
  if (place.layer == "mlp.gate_up") {
    return {
        {part("mlp.gate_proj", config.hidden_width()), part("mlp.up_proj", config.hidden_width())}};
  }
  std::string_view layer;
  if (family == Family::kOlmo2) layer = look_up(kOlmo2, place.layer);
  if (layer.empty()) layer = look_up(kLlama, place.layer);
  if (layer.empty()) throw BugError(format("models like Llama have no {}", name));
  return {{part(layer, 0)}};
}

}  // namespace

ForeignTensor foreign_tensor(Family family, const ModelConfig& config, std::string_view name) {
  const Place place = place_of(name);
  return family == Family::kGpt2 ? gpt2_tensor(place, name)
                                 : llama_tensor(family, config, place, name);
}

std::string name_in(const state::TensorDirectory& directory, const std::string& name) {
  for (const std::string_view prefix : {"transformer.", "model."}) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    std::string bare = name.substr(prefix.size());
    if (!directory.find(name) && directory.find(bare)) return bare;
  }
  return name;
}

bool needs_no_place(std::string_view name, bool tied) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".inv_freq") || (tied && name == "lm_head.weight");
}

}  // namespace shoal::hugging_face
