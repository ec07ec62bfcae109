#include "shoal/hugging_face/config_json.h"

#include <cmath>
#include <utility>
#include <vector>

#include "shoal/config/value.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/json_text.h"

namespace shoal::hugging_face {
namespace {

using config::Activation;
using config::BiasOn;
using config::ModelConfig;
using config::NormKind;
using config::NormPlace;
using config::Positions;
using config::QkNorm;
using config::RotaryConfig;
using config::RotaryScaling;

constexpr size_t kMaxConfigBytes = size_t{1} << 20;
constexpr uint64_t kMaxSize = uint64_t{1} << 31;  // of any dimension

int64_t size_of(const json::Fields& fields, const std::string& key) {
  const uint64_t size = fields.number(key);
  if (size == 0 || size > kMaxSize)
    throw DataError(format("'{}' is {}, but must be from 1 to {}", key, size, kMaxSize));
  return static_cast<int64_t>(size);
}

std::optional<int64_t> maybe_size_of(const json::Fields& fields, const std::string& key) {
  return fields.find(key) ? std::optional(size_of(fields, key)) : std::nullopt;
}

double real_of(const json::Fields& fields, const std::string& key, double otherwise) {
  const auto found = fields.find(key);
  if (!found) return otherwise;
  double value = 0;
  if (found->get(value) != simdjson::SUCCESS || !std::isfinite(value) || value < 0)
    throw DataError(format("'{}' is not a number of 0 or more", key));
  return value;
}

std::string text_of(const json::Fields& fields, const std::string& key, std::string otherwise) {
  return fields.find(key) ? fields.text(key) : std::move(otherwise);
}

Family family_named(const std::string& model_type) {
  std::string known;
  for (const FamilyNames& names : kFamilies) {
    if (names.model_type == model_type) return names.family;
    known += (known.empty() ? "" : ", ") + std::string(names.model_type);
  }
  throw DataError(
      format("model_type {} is not one that shoal has: {}", json::in_quotes(model_type), known));
}

// Newer files say rope_parameters, older ones rope_theta and rope_scaling.
RotaryConfig rotary_of(const json::Fields& root) {
  RotaryConfig rotary;
  rotary.theta = real_of(root, "rope_theta", rotary.theta);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!root.find(key)) continue;
    const json::Fields rope = root.object(key);
    rotary.theta = real_of(rope, "rope_theta", rotary.theta);
    const std::string type = text_of(rope, "rope_type", text_of(rope, "type", "default"));
    if (type == "default") continue;
    if (type != "linear" && type != "llama3")
      throw DataError(format("{} has rope_type {}, but shoal has default, linear and llama3", key,
                             json::in_quotes(type)));
    rotary.scaling = type == "linear" ? RotaryScaling::kLinear : RotaryScaling::kLlama3;
    rotary.factor = real_of(rope, "factor", 1);
    if (type == "linear") continue;
    rotary.low_frequency = real_of(rope, "low_freq_factor", rotary.low_frequency);
    rotary.high_frequency = real_of(rope, "high_freq_factor", rotary.high_frequency);
    rotary.original_context = size_of(rope, "original_max_position_embeddings");
  }
  return rotary;
}

ModelConfig gpt2_from(const json::Fields& root) {
  for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
    root.refuse_unless_empty(key);
  if (!root.flag("scale_attn_weights", true)) throw DataError("'scale_attn_weights' is false");
  ModelConfig config;
  config.layers = static_cast<int>(size_of(root, "n_layer"));
  config.width = size_of(root, "n_embd");
  config.heads = static_cast<int>(size_of(root, "n_head"));
  config.hidden = maybe_size_of(root, "n_inner");
  config.context = size_of(root, "n_positions");
  config.vocab_size = size_of(root, "vocab_size");
  config.norm_epsilon = real_of(root, "layer_norm_epsilon", 1e-5);
  const std::string activation = text_of(root, "activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu" && activation != "gelu_pytorch_tanh")
    throw DataError(format("activation_function {} is not gelu", json::in_quotes(activation)));
  config.activation = activation == "gelu" ? Activation::kGelu : Activation::kGeluTanh;
  config.tied = root.flag("tie_word_embeddings", true);
  config.init_std = real_of(root, "initializer_range", config.init_std);
  return config;
}

BiasOn bias_of(const json::Fields& root, Family family) {
  if (family == Family::kQwen2) return BiasOn::kQkv;
  const bool attention = root.flag("attention_bias", false);
  const bool mlp = root.flag("mlp_bias", false);
  if (attention != mlp && (attention || mlp))
    throw DataError("attention_bias and mlp_bias differ, which shoal's decoder cannot");
  return attention ? BiasOn::kAll : BiasOn::kNone;
}

ModelConfig llama_like_from(const json::Fields& root, Family family) {
  for (const char* key : {"clip_qkv", "use_sliding_window"}) root.refuse_unless_empty(key);
  if (text_of(root, "hidden_act", "silu") != "silu") throw DataError("'hidden_act' is not silu");
  ModelConfig config;
  config.layers = static_cast<int>(size_of(root, "num_hidden_layers"));
  config.width = size_of(root, "hidden_size");
  config.heads = static_cast<int>(size_of(root, "num_attention_heads"));
  if (const auto kv = maybe_size_of(root, "num_key_value_heads"))
    config.kv_heads = static_cast<int>(*kv);
  config.head_width = maybe_size_of(root, "head_dim");
  config.hidden = size_of(root, "intermediate_size");
  config.context = size_of(root, "max_position_embeddings");
  config.vocab_size = size_of(root, "vocab_size");
  config.positions = Positions::kRotary;
  config.rotary = rotary_of(root);
  config.norm = family == Family::kOlmo ? NormKind::kPlain : NormKind::kRms;
  config.norm_place = family == Family::kOlmo2 ? NormPlace::kAfter : NormPlace::kBefore;
  config.norm_epsilon =
      family == Family::kOlmo ? 1e-5 : real_of(root, "rms_norm_eps", 1e-6);  // Olmo's is fixed
  if (family == Family::kOlmo2) config.qk_norm = QkNorm::kWidth;
  if (family == Family::kQwen3) config.qk_norm = QkNorm::kHead;
  config.activation = Activation::kSwiglu;
  config.bias = bias_of(root, family);
  config.tied = root.flag("tie_word_embeddings", false);
  config.init_std = real_of(root, "initializer_range", config.init_std);
  return config;
}

void refuse_impossible(const ModelConfig& config) {
  if (config.layers > 10'000) throw DataError(format("{} layers", config.layers));
  if (config.heads % config.num_kv_heads() != 0)
    throw DataError(
        format("{} key/value heads do not divide {} heads", config.num_kv_heads(), config.heads));
  if (!config.head_width && config.width % config.heads != 0)
    throw DataError(format("{} heads do not divide a width of {}", config.heads, config.width));
  if (config.positions == Positions::kRotary && config.features_per_head() % 2 != 0)
    throw DataError(format("a head's {} features are no pairs", config.features_per_head()));
}

// A flat list of keys and values, as JSON.
class ObjectText {
 public:
  void add(std::string_view key, const std::string& json) { fields_.emplace_back(key, json); }
  void text(std::string_view key, std::string_view value) { add(key, json::in_quotes(value)); }
  void size(std::string_view key, int64_t value) { add(key, format("{}", value)); }
  void real(std::string_view key, double value) { add(key, config::write_value(value)); }
  void flag(std::string_view key, bool value) { add(key, value ? "true" : "false"); }

  [[nodiscard]] std::string done(const std::string& indent) const {
    std::string text = "{\n";
    for (size_t i = 0; i < fields_.size(); ++i)
      text += format("{}  \"{}\": {}{}\n", indent, fields_[i].first, fields_[i].second,
                     i + 1 < fields_.size() ? "," : "");
    return text + indent + "}";
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

void add_gpt2(const ModelConfig& config, ObjectText& root) {
  root.text("activation_function", config.activation == Activation::kGelu ? "gelu" : "gelu_new");
  root.real("attn_pdrop", config.dropout);
  root.real("embd_pdrop", config.dropout);
  root.real("layer_norm_epsilon", config.norm_epsilon);
  root.size("n_embd", config.width);
  root.size("n_head", config.heads);
  root.size("n_inner", config.hidden_width());
  root.size("n_layer", config.layers);
  root.size("n_positions", config.context);
  root.real("resid_pdrop", config.dropout);
}

std::string rope_json(const RotaryConfig& rotary) {
  ObjectText rope;
  rope.real("rope_theta", rotary.theta);
  if (rotary.scaling == RotaryScaling::kNone) {
    rope.text("rope_type", "default");
  } else {
    rope.text("rope_type", rotary.scaling == RotaryScaling::kLinear ? "linear" : "llama3");
    rope.real("factor", rotary.factor);
  }
  if (rotary.scaling == RotaryScaling::kLlama3) {
    rope.real("low_freq_factor", rotary.low_frequency);
    rope.real("high_freq_factor", rotary.high_frequency);
    rope.size("original_max_position_embeddings", rotary.original_context);
  }
  return rope.done("  ");
}

void add_llama_like(const ModelConfig& config, Family family, ObjectText& root) {
  if (family != Family::kQwen2) root.flag("attention_bias", config.bias == BiasOn::kAll);
  if (family == Family::kLlama) root.flag("mlp_bias", config.bias == BiasOn::kAll);
  // The other families have it in their files only when it does not follow from the width.
  if (family == Family::kLlama || family == Family::kQwen3 ||
      config.features_per_head() * config.heads != config.width)
    root.size("head_dim", config.features_per_head());
  root.text("hidden_act", "silu");
  root.size("hidden_size", config.width);
  root.size("intermediate_size", config.hidden_width());
  root.size("max_position_embeddings", config.context);
  root.size("num_attention_heads", config.heads);
  root.size("num_hidden_layers", config.layers);
  root.size("num_key_value_heads", config.num_kv_heads());
  if (family != Family::kOlmo) root.real("rms_norm_eps", config.norm_epsilon);
  root.add("rope_parameters", rope_json(config.rotary));
}

}  // namespace

DescribedModel read_config_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] {
    const json::Document document(json);
    const json::Fields root(document.root(), "config");
    const Family family = family_named(root.text("model_type"));
    ModelConfig config = family == Family::kGpt2 ? gpt2_from(root) : llama_like_from(root, family);
    refuse_impossible(config);
    return DescribedModel{family, config};
  });
}

DescribedModel read_config(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kConfigJson;
  return read_config_json(read_file(path, kMaxConfigBytes), path.string());
}

std::string write_config_json(const DescribedModel& model, std::string_view dtype) {
  const FamilyNames& names = kFamilies[static_cast<size_t>(model.family)];
  const ModelConfig& config = model.config;
  ObjectText root;
  root.add("architectures", format("[\"{}\"]", names.architecture));
  root.text("dtype", dtype);
  root.text("model_type", names.model_type);
  root.real("initializer_range", config.init_std);
  root.flag("tie_word_embeddings", config.tied);
  root.size("vocab_size", config.vocab_size.value());
  root.add("bos_token_id", "null");
  root.add("eos_token_id", "null");
  if (model.family == Family::kGpt2) {
    add_gpt2(config, root);
  } else {
    add_llama_like(config, model.family, root);
  }
  return root.done("") + "\n";
}

}  // namespace shoal::hugging_face
