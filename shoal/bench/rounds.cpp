#include "shoal/bench/rounds.h"

#include <algorithm>

namespace shoal::bench {

std::vector<std::vector<double>> measure_rounds(const RoundsPlan& plan) {
  constexpr int kMostRounds = 101;
  const double began = plan.now();
  std::vector<int> calls;
  for (const auto& body : plan.bodies) {
    body();  // the first call pays for pages and threads
    const double start = plan.now();
    body();
    plan.finish();
    const double once = std::max(plan.now() - start, 1e-7);
    calls.push_back(std::clamp(static_cast<int>(plan.call_seconds / once), 1, 10'000));
  }
  std::vector<std::vector<double>> seconds(plan.bodies.size());
  for (int round = 0; round < kMostRounds; ++round) {
    const double share = (plan.now() - began) / plan.seconds;
    if (round >= kLeastRounds && share >= 1) break;
    for (size_t i = 0; i < plan.bodies.size(); ++i) {
      const double start = plan.now();
      for (int call = 0; call < calls[i]; ++call) plan.bodies[i]();
      plan.finish();
      seconds[i].push_back((plan.now() - start) / calls[i]);
    }
    plan.progress(std::min(1.0, std::max((plan.now() - began) / plan.seconds,
                                         static_cast<double>(round + 1) / kMostRounds)));
  }
  return seconds;
}

}  // namespace shoal::bench
