// random_schedules.h -- schedules that nobody designed, and the plainest way to run one.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shoal/plan/schedule.h"
#include "shoal/plan/schedule_simulation.h"

namespace shoal::tests {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  plan::PipelineShape shape(int ranks, int chunks, int micro_batches) {
    return {1 + below(ranks), 1 + below(chunks), 1 + below(micro_batches)};
  }

 private:
  std::mt19937 random_;
};

using Lists = std::vector<std::vector<plan::Action>>;

inline Lists lists_of(const plan::Schedule& schedule) {
  Lists lists;
  for (int rank = 0; rank < schedule.ranks(); ++rank) lists.push_back(schedule.actions(rank));
  return lists;
}

// Complete, and ends: its actions were picked one after the other from those that could run.
inline plan::Schedule random_schedule(Dice& dice, const plan::PipelineShape& shape) {
  using plan::Op;
  Lists lists(static_cast<size_t>(shape.ranks));
  // Where each micro-batch stands: stages forward, then the same number back.
  std::vector<int> progress(static_cast<size_t>(shape.micro_batches));
  std::vector<int> left;
  for (int i = 0; i < shape.micro_batches; ++i) left.push_back(i);
  while (!left.empty()) {
    const auto pick = left.begin() + dice.below(static_cast<int>(left.size()));
    int& passes = progress[static_cast<size_t>(*pick)];
    const bool is_forward = passes < shape.stages();
    const int stage = is_forward ? passes : 2 * shape.stages() - 1 - passes;
    lists[static_cast<size_t>(stage % shape.ranks)].push_back(
        {is_forward ? Op::kForward : Op::kBackward, *pick, stage / shape.ranks});
    if (++passes == 2 * shape.stages()) left.erase(pick);
  }
  return {shape, std::move(lists)};
}

// Complete unless a backward comes before its forward; may well block.
inline plan::Schedule shuffled(Dice& dice, const plan::Schedule& schedule, int swaps) {
  Lists lists = lists_of(schedule);
  for (int i = 0; i < swaps; ++i) {
    auto& list = lists[static_cast<size_t>(dice.below(schedule.ranks()))];
    const int size = static_cast<int>(list.size());
    std::swap(list[static_cast<size_t>(dice.below(size))],
              list[static_cast<size_t>(dice.below(size))]);
  }
  return {schedule.shape(), std::move(lists)};
}

// When the last action ends, by looking again and again at every rank; nothing when it never does.
inline std::optional<double> plain_seconds(const plan::Schedule& schedule,
                                           const plan::StageTimes& times) {
  using plan::Op;
  const auto ranks = static_cast<size_t>(schedule.ranks());
  const auto passes =
      static_cast<size_t>(schedule.stages()) * static_cast<size_t>(schedule.micro_batches());
  std::vector<std::vector<std::optional<double>>> end(plan::kNumOps);
  for (auto& ends : end) ends.resize(passes);
  const auto at = [&](Op op, int stage, int micro_batch) -> std::optional<double>& {
    return end[static_cast<size_t>(op)]
              [static_cast<size_t>(stage * schedule.micro_batches() + micro_batch)];
  };
  std::vector<size_t> next(ranks);
  std::vector<double> free(ranks);
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      const auto r = static_cast<size_t>(rank);
      if (next[r] == schedule.actions(rank).size()) continue;
      const auto [op, micro_batch, chunk] = schedule.actions(rank)[next[r]];
      const int stage = chunk * schedule.ranks() + rank;
      const int source = op == Op::kForward ? stage - 1 : stage + 1;
      double begin = free[r];
      if (source >= 0 && source < schedule.stages()) {
        if (!at(op, source, micro_batch)) continue;
        const double way = source % schedule.ranks() == rank ? 0 : times.transfer;
        begin = std::max(begin, *at(op, source, micro_batch) + way);
      }
      if (op == Op::kBackward && !at(Op::kForward, stage, micro_batch)) continue;
      free[r] =
          begin + (op == Op::kForward ? times.forward : times.backward)[static_cast<size_t>(stage)];
      if (!at(op, stage, micro_batch)) at(op, stage, micro_batch) = free[r];
      ++next[r];
      moved = true;
    }
  }
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    if (next[static_cast<size_t>(rank)] < schedule.actions(rank).size()) return std::nullopt;
  }
  return *std::max_element(free.begin(), free.end());
}

}  // namespace shoal::tests
