#include "shoal/train/wrong_bits.h"

#include <utility>
#include <vector>

#include "shoal/core/error.h"
#include "shoal/core/format.h"
#include "shoal/core/log.h"

namespace shoal::train {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

}  // namespace

WrongBits::WrongBits(parallel::ParallelModel& model,
                     const parallel::Ranks& ranks,
                     comm::World& world,
                     std::function<void()> finish_save)
    : model_(model),
      world_(world),
      exact_(ranks.device().is_cpu()),
      finish_save_(std::move(finish_save)),
      replicas_(model, ranks) {}

void WrongBits::require_same_replay(int64_t step,
                                    std::span<const model::Pass> passes,
                                    const parallel::StepOptions& options,
                                    const StepWitness& first) {
  const std::string who = joined(replayed_differently(model_, world_, passes, options, first));
  const bool speaks = world_.rank() == 0;
  if (who.empty()) {
    if (speaks && !first.has_listened())
      log::warn(
          "step {} is skipped, and its replay computes the same result: its samples or the "
          "weights are the cause, not a transient error of a rank",
          step);
    return;
  }
  const std::string what =
      format("the replay of step {} computes a different result: {}", step, who);
  if (exact_) end(what);
  if (speaks) log::warn("{}; kernels of this device may add in an order that varies", what);
}

void WrongBits::require_same_replicas(int64_t step) {
  if (world_.size() == 1) return;
  const std::vector<std::string> damage = replicas_.differences(world_);
  if (!damage.empty()) end(format("after step {}: {}", step, joined(damage)));
}

void WrongBits::end(const std::string& why) {
  finish_save_();
  throw Error(ExitCode::kUnequal,
              why +
                  "; this state is not saved: go on from the newest checkpoint, without the host "
                  "if it is named again");
}

}  // namespace shoal::train
