// growth.h -- how much more time a larger input takes.
//
//   if (const auto growth = growth_of([&] { pack(some); }, [&] { pack(four_times_as_many); }))
//     EXPECT_LT(*growth, 8) << "not linear";
//
// Other processes use the machine of the gate, so times are compared in the nightly run alone
// (SHOAL_NIGHTLY is set). At the gate the larger input runs once: what hangs is stopped by ctest.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>

namespace shoal::tests {

inline bool is_nightly() { return std::getenv("SHOAL_NIGHTLY") != nullptr; }

// Returns the CPU time of `large` divided by that of `small`, each the least of several rounds;
// std::nullopt outside of the nightly run.
inline std::optional<double> growth_of(const std::function<void()>& small,
                                       const std::function<void()>& large) {
  constexpr int kRounds = 5;
  if (!is_nightly()) {
    large();
    return std::nullopt;
  }
  const auto cpu_seconds = [](const std::function<void()>& body) {
    const std::clock_t began = std::clock();
    body();
    return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  };
  double least_small = std::numeric_limits<double>::infinity();
  double least_large = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    least_small = std::min(least_small, cpu_seconds(small));
    least_large = std::min(least_large, cpu_seconds(large));
  }
  const double growth = least_large / std::max(least_small, 1e-6);
  std::printf("CPU time grows from %.4f s to %.4f s: %.1f times\n", least_small, least_large,
              growth);
  return growth;
}

}  // namespace shoal::tests
