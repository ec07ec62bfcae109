#include "shoal/config/tensor_parallel.h"

#include "shoal/core/format.h"

namespace shoal::config {
namespace {

std::optional<std::string> why_not_split_heads(int heads, int kv_heads, int tp) {
  if (heads < tp)
    return format("model.heads = {} is less than parallel.tp = {}: choose a tp of at most {}",
                  heads, tp, heads);
  if (kv_heads >= tp) return std::nullopt;
  if (tp % kv_heads != 0)
    return format(
        "model.kv_heads = {} is less than parallel.tp = {} and does not divide it: choose a tp of "
        "at "
        "most {}, or a multiple of it",
        kv_heads, tp, kv_heads);
  // heads >= tp, so that each of the tp / kv_heads ranks of a key/value head has at least one of
  // its heads / kv_heads queries.
  return std::nullopt;
}

// A norm over the whole width of queries or keys wants every head on one rank.
std::optional<std::string> why_not_split_qk_norm(int kv_heads, int tp) {
  if (kv_heads >= tp) return std::nullopt;
  return format(
      "model.qk_norm: width normalizes all keys together, but with model.kv_heads = {} several of "
      "the parallel.tp = {} ranks have the same ones: choose a tp of at most {}",
      kv_heads, tp, kv_heads);
}

std::optional<std::string> why_not_split_vocabulary(int64_t vocab_size, int tp) {
  if (vocab_size >= tp) return std::nullopt;
  return format("model.vocab_size = {} is less than parallel.tp = {}: choose a tp of at most {}",
                vocab_size, tp, vocab_size);
}

}  // namespace

std::optional<std::string> why_not_tensor_parallel(const ModelConfig& model, int tp) {
  if (auto reason = why_not_split_heads(model.heads, model.num_kv_heads(), tp)) return reason;
  if (model.qk_norm == QkNorm::kWidth) {
    if (auto reason = why_not_split_qk_norm(model.num_kv_heads(), tp)) return reason;
  }
  return model.vocab_size ? why_not_split_vocabulary(*model.vocab_size, tp) : std::nullopt;
}

}  // namespace shoal::config
