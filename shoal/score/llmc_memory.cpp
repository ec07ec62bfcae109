#include "shoal/score/llmc_memory.h"

#include "shoal/core/error.h"
#include "shoal/score/parameters.h"

namespace shoal::score {
namespace {

constexpr int64_t kBf16 = 2;
constexpr int64_t kFp32 = 4;

int64_t tokens_of(const plan::RankPlan& plan, int micro_batch) {
  return plan.shape_of(micro_batch).sequences * plan.config.model.context;
}

}  // namespace

plan::Memory LlmcRules::state(const plan::RankPlan& plan) const {
  const int64_t parameters = parameters_of(plan);
  const int64_t shard = parameters / plan.ranks(plan.shards);
  plan::Memory memory;
  memory.weights = parameters * kBf16;
  memory.gradients = parameters * kBf16;
  memory.masters = shard * kFp32;
  memory.optimizer = 2 * shard * kFp32;
  // scratch_bt4c and scratch_btc
  memory.activations = tokens_of(plan, 0) * 5 * plan.config.model.width * kBf16;
  return memory;
}

blueprint::UnitActivations LlmcRules::kept(const plan::RankPlan& plan,
                                           const plan::Operation& operation) const {
  const config::ModelConfig& model = plan.config.model;
  const int64_t tokens = tokens_of(plan, operation.micro_batch);
  const int64_t row = tokens * model.width * kBf16;
  const int64_t statistics = 2 * tokens * kFp32;
  switch (plan::unit_of(plan, operation).kind) {
    case config::UnitKind::kEmbedding:
      return {.output = row};  // encoded
    case config::UnitKind::kBlock:
      // ln1, qkvr (3), atty, residual2, ln2, fch (4), fch_gelu (4); att holds the sums of exponentials.
      return {.output = row,  // residual3
              .inside = 15 * row + 2 * statistics + tokens * model.heads * kFp32};
    case config::UnitKind::kHead:
      // lnf, losses, output
      return {.inside = row + statistics + tokens * kFp32 + tokens * *model.vocab_size * kBf16};
  }
  throw BugError("no such unit");
}

blueprint::UnitActivations LlmcRules::not_kept(const plan::RankPlan& plan,
                                               const plan::Operation& operation) const {
  return kept(plan, operation);  // nothing is run again
}

int64_t LlmcRules::transferred(const plan::RankPlan& plan, int micro_batch) const {
  return plan.activation_bytes(micro_batch);
}

}  // namespace shoal::score
