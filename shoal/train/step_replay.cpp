#include "shoal/train/step_replay.h"

#include <ATen/ATen.h>

#include "shoal/comm/texts.h"
#include "shoal/core/error.h"
#include "shoal/core/format.h"

namespace shoal::train {
namespace {

using parallel::UnitGroup;
using plan::OpKind;

std::vector<int64_t> on_host(const std::vector<at::Tensor>& scalars) {
  if (scalars.empty()) return {};
  const at::Tensor all = at::stack(scalars).cpu();
  const auto* const first = all.const_data_ptr<int64_t>();
  return {first, first + all.numel()};
}

// Returns the operation that first sums gradients over ranks with other samples.
OpKind first_sum(const plan::RankPlan& plan) {
  return plan.ranks(plan.shards) > 1 ? OpKind::kReduce : OpKind::kReduceReplicas;
}

std::string told(int rank, const std::string& host, const StepBits& first, const StepBits& again) {
  SHOAL_CHECK(first.names == again.names, "a replay consists of other operations than its step");
  std::string what;
  size_t count = 0;
  for (size_t i = 0; i < first.own.size(); ++i) {
    if (first.own[i] != again.own[i] && count++ == 0) what = first.names[i];
  }
  if (count == 0) return "";
  return format("rank {} on {} computes another {}{}", rank, host, what,
                count > 1 ? format(" (and {} more)", count - 1) : "");
}

}  // namespace

StepWitness::StepWitness(const parallel::ParallelModel& model)
    : model_(model), fingerprints_(model.device()) {}

void StepWitness::before(const plan::Operation& operation) {
  has_listened_ = true;
  if (operation.kind == first_sum(model_.plan())) {
    UnitGroup& group = *model_.groups()[model_.plan().group_number(
        static_cast<size_t>(operation.chunk), static_cast<size_t>(operation.index))];
    group.close_gradients();
    names_.push_back("gradient of " + group.name());
    gradients_.push_back(fingerprints_.of(group.whole_gradient()));
  }
}

StepBits StepWitness::bits() const {
  StepBits bits;
  std::vector<at::Tensor> own;
  const std::vector<at::Tensor>& losses = model_.own_losses();
  for (size_t i = 0; i < losses.size(); ++i) {
    if (!losses[i].defined()) continue;
    bits.names.push_back(format("loss of micro-batch {}", i));
    own.push_back(fingerprints_.of(losses[i]));
  }
  bits.names.insert(bits.names.end(), names_.begin(), names_.end());
  own.insert(own.end(), gradients_.begin(), gradients_.end());
  std::vector<at::Tensor> summed = {fingerprints_.of(model_.loss())};
  const bool all_samples = model_.plan().ranks(plan::kDataAxes) == 1;
  for (const UnitGroup* group : model_.groups()) {
    if (all_samples) bits.names.push_back("gradient of " + group->name());
    (all_samples ? own : summed).push_back(fingerprints_.of(group->shard_gradient()));
  }
  bits.own = on_host(own);
  bits.summed = on_host(summed);
  return bits;
}

std::vector<std::string> replayed_differently(parallel::ParallelModel& model,
                                              comm::World& world,
                                              std::span<const model::Pass> passes,
                                              parallel::StepOptions options,
                                              const StepWitness& first) {
  const StepBits before = first.bits();
  StepWitness second(model);
  options.listener = first.has_listened() ? &second : nullptr;
  model.forward_backward(passes, options);
  const StepBits again = second.bits();

  const bool differs = before.own != again.own || before.summed != again.summed;
  if (!world.control().any(differs, "whether a replay differs")) return {};
  const std::string mine =
      told(world.rank(), world.hosts()[static_cast<size_t>(world.rank())], before, again);
  std::vector<std::string> lines;
  for (std::string& line : comm::all_texts(world, mine, "which replays differ")) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (lines.empty())
    lines = {"the sums of gradients over ranks differ, and which of them erred is not known"};
  return lines;
}

}  // namespace shoal::train
