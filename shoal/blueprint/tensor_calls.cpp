#include "shoal/blueprint/tensor_calls.h"

#include "shoal/core/error.h"

namespace shoal::blueprint {
namespace {

using config::ModelConfig;
using config::UnitKind;

// The sizes that calls have.
struct CallBytes {
  CallBytes(const ModelConfig& model, const PassShape& pass, const ElementBytes& bytes)
      : tokens(pass.sequences * model.context),
        rows(largest_share(tokens, pass.tensor_place.ranks) * pass.tensor_place.ranks *
             model.width * bytes.compute),
        statistic(tokens * bytes.wide),
        gathers_keys(model.num_kv_heads() < pass.tensor_place.ranks),
        normalizes_width(model.qk_norm == config::QkNorm::kWidth) {
    const int64_t features =
        largest_share(model.num_kv_heads() * model.features_per_head(), pass.tensor_place.ranks) *
        pass.tensor_place.ranks;
    keys_and_values = 2 * tokens * features * bytes.compute;
  }

  [[nodiscard]] TensorCall gather() const {
    return {Traffic::kTensorActivations, Exchange::kAllGather, rows};
  }
  [[nodiscard]] TensorCall sum() const {
    return {Traffic::kTensorActivations, Exchange::kReduceScatter, rows};
  }
  [[nodiscard]] TensorCall norm() const {
    return {Traffic::kQkNorm, Exchange::kAllReduce, statistic};
  }

  int64_t tokens;
  int64_t rows;       // of all ranks, padded
  int64_t statistic;  // a number for each token
  int64_t keys_and_values = 0;
  bool gathers_keys;
  bool normalizes_width;
};

// Two pairs of matrices, each of which gathers rows in front and adds them up behind.
std::vector<TensorCall> block_forward(const CallBytes& of) {
  std::vector<TensorCall> calls = {of.gather()};
  if (of.gathers_keys)
    calls.push_back({Traffic::kKeysAndValues, Exchange::kAllGather, of.keys_and_values});
  if (of.normalizes_width) calls.insert(calls.end(), 2, of.norm());
  calls.insert(calls.end(), {of.sum(), of.gather(), of.sum()});
  return calls;
}

// The gradient goes the same way back, and the rows in front are gathered once more.
std::vector<TensorCall> block_backward(const CallBytes& of) {
  std::vector<TensorCall> calls = {of.gather(), of.gather(), of.sum(), of.gather()};
  if (of.normalizes_width) calls.insert(calls.end(), 2, of.norm());
  if (of.gathers_keys)
    calls.push_back({Traffic::kKeysAndValues, Exchange::kReduceScatter, of.keys_and_values});
  calls.insert(calls.end(), {of.gather(), of.sum()});
  return calls;
}

}  // namespace

std::vector<TensorCall> forward_calls(UnitKind kind,
                                      const ModelConfig& model,
                                      const PassShape& pass,
                                      const ElementBytes& bytes) {
  if (pass.tensor_place.ranks == 1) return {};
  const CallBytes of(model, pass, bytes);
  switch (kind) {
    case UnitKind::kEmbedding:
      return {{Traffic::kEmbedding, Exchange::kReduceScatter, of.rows}};
    case UnitKind::kBlock:
      return block_forward(of);
    case UnitKind::kHead:
      // The largest logits; then sums of exponentials and the targets' logits together.
      return {{Traffic::kHead, Exchange::kAllGather, of.rows},
              {Traffic::kHead, Exchange::kAllReduce, of.statistic},
              {Traffic::kHead, Exchange::kAllReduce, 2 * of.statistic},
              {Traffic::kHead, Exchange::kReduceScatter, of.rows}};
  }
  throw BugError("no such unit");
}

std::vector<TensorCall> backward_calls(UnitKind kind,
                                       const ModelConfig& model,
                                       const PassShape& pass,
                                       const ElementBytes& bytes) {
  if (pass.tensor_place.ranks == 1) return {};
  const CallBytes of(model, pass, bytes);
  switch (kind) {
    case UnitKind::kEmbedding:
      return {{Traffic::kEmbedding, Exchange::kAllGather, of.rows}};
    case UnitKind::kBlock:
      return block_backward(of);
    case UnitKind::kHead:
      return {};
  }
  throw BugError("no such unit");
}

}  // namespace shoal::blueprint
