#include "shoal/blueprint/activations.h"

#include <algorithm>

#include "shoal/core/error.h"

namespace shoal::blueprint {
namespace {

using config::ModelConfig;
using config::Recompute;
using config::UnitKind;

// Tensors of a block, in bytes.
struct BlockTensors {
  int64_t rows = 0;        // residual sum, or a norm of it: this rank's rows
  int64_t gathered = 0;    // those of all tensor-parallel ranks; none without
  int64_t statistics = 0;  // of a norm
  int64_t qkv = 0;
  int64_t placed = 0;    // queries and keys that are turned by their positions
  int64_t qk_norms = 0;  // their copies in front of norms, and statistics
  int64_t attended = 0;  // with the sums of exponentials; with dropout the scores as well
  int64_t up = 0;
  int64_t up_features = 0;
  int64_t hidden = 0;   // behind the activation
  int64_t dropped = 0;  // masks of both residual sums
};

BlockTensors tensors_of(const ModelConfig& model,
                        const PassShape& pass,
                        const ElementBytes& bytes) {
  const int tp = pass.tensor_place.ranks;
  const LocalHeads local = local_heads(model.heads, model.num_kv_heads(), pass.tensor_place);
  const int64_t tokens = pass.sequences * model.context;
  const int64_t own = largest_share(tokens, tp);
  const int64_t head = model.features_per_head();
  const int64_t heads = local.heads;
  const int64_t kv_heads = local.kv_heads;
  const int64_t hidden = share_of(model.hidden_width(), pass.tensor_place).count;
  const bool gated = model.activation == config::Activation::kSwiglu;
  const int64_t queries_and_keys = tokens * (heads + kv_heads) * head * bytes.compute;
  BlockTensors found;
  found.rows = own * model.width * bytes.compute;
  found.gathered = tp > 1 ? tp * found.rows : 0;
  found.statistics = (model.norm == config::NormKind::kRms ? 1 : 2) * own * bytes.wide;
  found.qkv = tokens * (heads + 2 * kv_heads) * head * bytes.compute;
  if (model.positions == config::Positions::kRotary) found.placed = queries_and_keys;
  if (model.qk_norm != config::QkNorm::kNone)
    found.qk_norms = queries_and_keys + tokens * (heads + kv_heads) * bytes.wide;
  found.attended = tokens * heads * (head * bytes.compute + bytes.wide);
  if (model.dropout > 0) {
    // Without a fused kernel: keys and values of all heads, softmax, its mask and what that left, and
    // the mask of hidden scores. Copies do not keep what they were cut from: keys that heads share are
    // copied, and heads of several sequences, to become a batch of matrices.
    const bool copied = heads > kv_heads || (heads > 1 && pass.sequences > 1);
    found.qkv = 3 * tokens * heads * head * bytes.compute;
    if (copied) found.placed = 0;
    found.attended = tokens * heads * head * bytes.compute +
                     tokens * model.context * (heads * (2 * bytes.compute + 1) + 1);
    found.dropped = 2 * own * model.width;
  }
  found.up_features = hidden * (gated ? 2 : 1);
  found.up = tokens * found.up_features * bytes.compute;
  found.hidden = tokens * hidden * bytes.compute;
  return found;
}

// A matrix's gradient in half precision, before it is added to a wide one: so many elements at a time.
int64_t product_bytes(int64_t elements, const ElementBytes& bytes) {
  constexpr int64_t kAtOnce = 1 << 22;
  return std::min(elements, kAtOnce) * bytes.compute;
}

UnitActivations block(const ModelConfig& model,
                      const PassShape& pass,
                      const ElementBytes& bytes,
                      bool again) {
  const BlockTensors t = tensors_of(model, pass, bytes);
  const bool gated = model.activation == config::Activation::kSwiglu;
  UnitActivations found{.output = t.rows};
  // The sum in the middle, and what attention needs.
  found.inside = t.rows + t.qkv + t.placed + t.qk_norms + t.attended + t.up + t.dropped;
  if (model.norm_place == config::NormPlace::kAfter) {
    found.inside += 2 * (t.rows + t.statistics) + (again ? 0 : t.hidden);
  } else if (!again) {
    found.inside += 2 * (t.rows + t.statistics) + t.hidden;
  }
  // Forward ends with the MLP's output beside the sum, and with what dropout left of it.
  found.forward =
      std::max(t.dropped > 0 ? 2 * t.rows : t.rows, t.gathered) + (again ? t.hidden : 0);
  // Backward takes the most at the activation, whose gradient is there on both sides; or, with many tensor-parallel
  // ranks, in front of the MLP, where its input is gathered and the gradient is added up.
  const int64_t at_activation = t.up + (gated ? t.hidden : 0) + (again ? 2 * t.hidden : 0);
  const int64_t in_front = 2 * t.gathered + t.rows - (again ? 0 : t.hidden);
  found.backward = t.rows + std::max(at_activation, in_front);
  if (bytes.compute < bytes.wide)
    found.backward += product_bytes(t.up_features * model.width, bytes);
  return found;
}

UnitActivations head(const ModelConfig& model, const PassShape& pass, const ElementBytes& bytes) {
  constexpr int64_t kScoresAtOnce = 1 << 18;  // that are copied to a wide type, of a thread
  const BlockTensors t = tensors_of(model, pass, bytes);
  const int64_t tokens = pass.sequences * model.context;
  const int64_t classes = share_of(*model.vocab_size, pass.tensor_place).count;
  const int64_t all_rows = tokens * model.width * bytes.compute;
  const bool narrow = bytes.compute < bytes.wide;
  const bool split = pass.tensor_place.ranks > 1;
  UnitActivations found;
  found.inside = t.rows + t.statistics;  // the gradient of the input is there already
  found.forward = t.gathered + all_rows + tokens * classes * bytes.compute;
  if (narrow || split) {
    const int64_t at_once = std::clamp<int64_t>(kScoresAtOnce / classes, 1, tokens);
    found.forward += at_once * classes * bytes.wide;
  }
  if (narrow) found.forward += product_bytes(classes * model.width, bytes);
  found.backward = t.rows;
  return found;
}

}  // namespace

ElementBytes element_bytes(config::Precision precision) {
  switch (precision) {
    case config::Precision::kBf16:
    case config::Precision::kFp16:
      return {.compute = 2};
    case config::Precision::kFp64:
      return {.compute = 8, .gradient = 8, .wide = 8};
    case config::Precision::kFp32:
    case config::Precision::kTf32:
      break;
  }
  return {};
}

UnitActivations activations_of(UnitKind kind,
                               const ModelConfig& model,
                               const PassShape& pass,
                               const ElementBytes& bytes,
                               Recompute recompute) {
  const BlockTensors t = tensors_of(model, pass, bytes);
  const int64_t tokens = pass.sequences * model.context;
  switch (kind) {
    case UnitKind::kEmbedding:
      return {.output = t.rows,
              .inside = 2 * tokens * static_cast<int64_t>(sizeof(int64_t)) + t.dropped / 2,
              .forward = 2 * t.rows,
              .backward =
                  t.gathered +
                  (bytes.compute < bytes.gradient ? t.rows / bytes.compute * bytes.gradient : 0)};
    case UnitKind::kBlock:
      return block(model, pass, bytes, recompute == Recompute::kSelective);
    case UnitKind::kHead:
      return head(model, pass, bytes);
  }
  throw BugError("no such unit");
}

UnitActivations without_backward(const ModelConfig& model,
                                 const PassShape& pass,
                                 const ElementBytes& bytes) {
  const BlockTensors t = tensors_of(model, pass, bytes);
  return {.output = t.rows,
          .forward = std::max(t.rows + t.gathered + t.qkv + t.placed + t.attended,
                              2 * t.rows + t.gathered + t.up + t.hidden)};
}

}  // namespace shoal::blueprint
