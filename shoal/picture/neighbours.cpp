#include "shoal/picture/neighbours.h"

#include "shoal/core/format.h"

namespace shoal::picture {

std::vector<Candidate> recompute_neighbours(const PlanFacts& facts) {
  std::vector<Candidate> candidates;
  for (const auto& [name, recompute] : config::kNames<config::Recompute>) {
    const std::string shown = format("recompute {}", name);
    const bool chosen = facts.config().train.recompute == recompute;
    if (chosen) {
      candidates.push_back(candidate_of(facts, shown));
    } else {
      config::RunConfig config = facts.config();
      config.train.recompute = recompute;
      candidates.push_back(candidate_of(facts_of(config, facts.mesh(), facts.cluster), shown));
    }
    candidates.back().chosen = chosen;
  }
  return candidates;
}

}  // namespace shoal::picture
