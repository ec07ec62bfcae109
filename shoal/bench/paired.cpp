#include "shoal/bench/paired.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "shoal/core/error.h"

namespace shoal::bench {
namespace {

constexpr int kMaxCalls = 1'000'000;

// `fraction` of the way through the sorted values.
double at_fraction(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::string Quartiles::text(int digits) const {
  return format("{:.{}f} ({:.{}f} .. {:.{}f})", median, digits, low, digits, high, digits);
}

Quartiles quartiles_of(std::vector<double> values) {
  SHOAL_CHECK(!values.empty(), "quartiles of nothing");
  std::sort(values.begin(), values.end());
  const double low = at_fraction(values, 0.25);
  const double high = at_fraction(values, 0.75);
  constexpr double kErrorOfSpread = 1.2533 / 1.349;
  return {low, at_fraction(values, 0.5), high,
          kErrorOfSpread * (high - low) / std::sqrt(static_cast<double>(values.size()))};
}

double undisturbed(const std::vector<double>& seconds) { return quartiles_of(seconds).low; }

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double time_calls(const std::function<void()>& body, int calls, SecondsNow now) {
  const double began = now();
  for (int i = 0; i < calls; ++i) body();
  return (now() - began) / calls;
}

int calls_per_round(const std::function<void()>& body, double seconds, SecondsNow now) {
  body();  // the first call pays for pages and connections
  int calls = 1;
  double each = time_calls(body, calls, now);
  while (each * calls < seconds / 10 && calls < kMaxCalls) {
    calls *= 4;
    each = time_calls(body, calls, now);
  }
  return std::clamp(static_cast<int>(seconds / std::max(each, 1e-9)), 1, kMaxCalls);
}

Paired measure_paired(const PairedPlan& plan) {
  SHOAL_CHECK(plan.rounds >= 21, "{} rounds, but a paired figure takes at least 21", plan.rounds);
  const int calls = plan.calls > 0
                        ? plan.calls
                        : std::min(calls_per_round(plan.a, plan.round_seconds, plan.now),
                                   calls_per_round(plan.b, plan.round_seconds, plan.now));
  std::vector<double> ratios;
  std::vector<double> a_times;
  std::vector<double> b_times;
  std::vector<double> added;
  for (int round = 0; round < plan.rounds; ++round) {
    // Who goes first alternates, so that neither always inherits the other's caches.
    const bool a_first = round % 2 == 0;
    const double first = time_calls(a_first ? plan.a : plan.b, calls, plan.now);
    const double second = time_calls(a_first ? plan.b : plan.a, calls, plan.now);
    a_times.push_back(a_first ? first : second);
    b_times.push_back(a_first ? second : first);
    ratios.push_back(a_times.back() / b_times.back());
    added.push_back(a_times.back() - b_times.back());
  }
  return {quartiles_of(ratios), quartiles_of(a_times), quartiles_of(b_times), quartiles_of(added)};
}

}  // namespace shoal::bench
