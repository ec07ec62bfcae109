// paired.h -- how much faster one function is than another, on a machine that is never quiet.
//
//   const Paired result = measure_paired({.a = [&] { ours(); }, .b = [&] { theirs(); }});
//   result.ratio.median        // time of a divided by time of b
//
// a and b run in turn, each round gives one ratio, and the median and quartiles of the ratios are
// reported: what disturbs one round disturbs both sides of it, and one disturbed round moves a
// median little. A plan has at least 21 rounds. A ratio below 1 means that a is faster.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shoal::bench {

struct Quartiles {
  double low = 0;
  double median = 0;
  double high = 0;
  // The standard error of the median: sqrt(pi / 2) sigma / sqrt(n) for n values spread normally,
  // with sigma taken from the quartiles, which lie 1.349 sigma apart. A limit is passed for sure
  // only by a median that lies several errors beyond it.
  double error = 0;

  [[nodiscard]] std::string text(int digits) const;  // "0.31 (0.29 .. 0.35)"
};

// The quartiles, interpolated linearly between neighbouring values; needs at least one value.
Quartiles quartiles_of(std::vector<double> values);

// Returns the seconds of something that nobody disturbs, from measured ones: their lower quartile, as
// others on a host only make things slower. Needs at least one value.
double undisturbed(const std::vector<double>& seconds);

struct Paired {
  Quartiles ratio;      // a / b, round by round
  Quartiles a_seconds;  // seconds of one call
  Quartiles b_seconds;
  Quartiles added_seconds;  // a - b, round by round: what a costs on top of b
};

// A clock that only goes forward, in seconds.
using SecondsNow = double (*)();
double steady_seconds();

struct PairedPlan {
  std::function<void()> a;
  std::function<void()> b;
  int rounds = 21;
  // The number of calls per side and round; 0 takes as many as fit `round_seconds`, found by
  // trying. Ranks that measure together must agree on it beforehand (calls_per_round), or they
  // would wait for each other for ever.
  int calls = 0;
  double round_seconds = 0.1;
  SecondsNow now = steady_seconds;
};

Paired measure_paired(const PairedPlan& plan);

// Returns how many calls of `body` take about `seconds`, at least 1, measured over a few calls.
int calls_per_round(const std::function<void()>& body,
                    double seconds,
                    SecondsNow now = steady_seconds);

// Returns the seconds per call, averaged over `calls` calls.
double time_calls(const std::function<void()>& body, int calls, SecondsNow now = steady_seconds);

}  // namespace shoal::bench
