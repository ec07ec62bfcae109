#include "shoal/plan/schedule_check.h"

#include <algorithm>
#include <array>

#include "shoal/core/error.h"
#include "shoal/plan/schedule_text.h"

namespace shoal::plan {
namespace {

constexpr size_t kMaxProblems = 1000;

// Finds the problems in the list of one rank.
class RankCheck {
 public:
  RankCheck(const Schedule& schedule, int rank, std::vector<config::Problem>& problems)
      : shape_(schedule.shape()), rank_(rank), problems_(problems) {
    const auto passes =
        static_cast<size_t>(shape_.chunks) * static_cast<size_t>(shape_.micro_batches);
    for (auto& counts : counts_) counts.resize(passes);
    for (const Action& action : schedule.actions(rank)) count(action);
    for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
      report_missing(Op::kForward, chunk);
      report_missing(Op::kBackward, chunk);
    }
  }

 private:
  int& times(const Action& action) {
    const size_t index =
        static_cast<size_t>(action.chunk) * static_cast<size_t>(shape_.micro_batches) +
        static_cast<size_t>(action.micro_batch);
    return counts_[static_cast<size_t>(action.op)][index];
  }

  void add(const std::string& what) {
    if (problems_.size() < kMaxProblems)
      problems_.push_back({.where = format("rank {}", rank_), .what = what});
  }

  void count(const Action& action) {
    if (++times(action) == 2) add(format("runs {} more than once", action_name(action, shape_)));
    Action forward = action;
    forward.op = Op::kForward;
    if (action.op == Op::kBackward && times(forward) == 0) {
      add(format("runs {} without {} before it", action_name(action, shape_),
                 action_name(forward, shape_)));
    }
  }

  // Consecutive missing micro-batches are one problem: a schedule for fewer micro-batches lacks a
  // long run of them.
  void report_missing(Op op, int chunk) {
    int first = 0;
    while (first < shape_.micro_batches) {
      int end = first;
      while (end < shape_.micro_batches && times({op, end, chunk}) == 0) ++end;
      if (end > first) {
        const std::string name = action_name({op, first, chunk}, shape_);
        add(end == first + 1
                ? format("never runs {}", name)
                : format("never runs {} to {}", name, action_name({op, end - 1, chunk}, shape_)));
      }
      first = end + 1;
    }
  }

  const PipelineShape& shape_;
  int rank_;
  std::vector<config::Problem>& problems_;
  std::array<std::vector<int>, kNumOps> counts_;  // by chunk and micro-batch
};

}  // namespace

std::vector<config::Problem> check(const Schedule& schedule) {
  std::vector<config::Problem> problems;
  for (int rank = 0; rank < schedule.ranks(); ++rank) RankCheck(schedule, rank, problems);
  return problems;
}

void require_complete(const Schedule& schedule, std::string_view name) {
  const std::vector<config::Problem> problems = check(schedule);
  if (problems.empty()) return;
  const auto& [ranks, chunks, micro_batches] = schedule.shape();
  throw DataError(
      config::report(format("{} is no schedule for {} ranks x {} chunks and {} micro-batches", name,
                            ranks, chunks, micro_batches),
                     problems));
}

}  // namespace shoal::plan
