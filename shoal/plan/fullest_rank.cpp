#include "shoal/plan/fullest_rank.h"

#include <algorithm>
#include <utility>

namespace shoal::plan {

std::vector<StagePeak> stage_peaks(const config::RunConfig& config, const Mesh& mesh) {
  std::vector<StagePeak> peaks;
  for (const int first : mesh.peers(0, Axis::kPp)) {
    StagePeak& highest = peaks.emplace_back(StagePeak{.rank = first});
    for (const int rank : mesh.peers(first, Axis::kTp)) {
      const Memory memory = memory_of_step(config, mesh, rank);
      if (memory.peak() > highest.memory.peak()) highest = {rank, memory};
    }
  }
  return peaks;
}

FullestRank fullest_rank(const config::RunConfig& config,
                         const Mesh& mesh,
                         const std::vector<StagePeak>& peaks) {
  const StagePeak& highest = *std::max_element(
      peaks.begin(), peaks.end(),
      [](const StagePeak& a, const StagePeak& b) { return a.memory.peak() < b.memory.peak(); });
  RankPlan plan = plan_of(config, mesh, highest.rank);
  Program program = training_program(plan);
  return {std::move(plan), std::move(program), highest.memory};
}

FullestRank fullest_rank(const config::RunConfig& config, const Mesh& mesh) {
  return fullest_rank(config, mesh, stage_peaks(config, mesh));
}

}  // namespace shoal::plan
