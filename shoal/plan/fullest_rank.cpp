#include "shoal/plan/fullest_rank.h"

#include <algorithm>
#include <utility>

namespace shoal::plan {

std::vector<StagePeak> stage_peaks(const PlannedJob& job) {
  std::vector<StagePeak> peaks;
  for (const int first : job.busiest_ranks()) {
    StagePeak& highest = peaks.emplace_back(StagePeak{.rank = first});
    for (const int number : job.mesh().peers(first, Axis::kTp)) {
      const PlannedRank rank = job.rank(number);
      const Memory memory = memory_of(rank.plan, rank.program);
      if (memory.peak() > highest.memory.peak()) highest = {number, memory};
    }
  }
  return peaks;
}

FullestRank fullest_rank(const PlannedJob& job, const std::vector<StagePeak>& peaks) {
  const StagePeak& highest = *std::max_element(
      peaks.begin(), peaks.end(),
      [](const StagePeak& a, const StagePeak& b) { return a.memory.peak() < b.memory.peak(); });
  PlannedRank rank = job.rank(highest.rank);
  return {std::move(rank.plan), std::move(rank.program), highest.memory};
}

FullestRank fullest_rank(const PlannedJob& job) { return fullest_rank(job, stage_peaks(job)); }

}  // namespace shoal::plan
