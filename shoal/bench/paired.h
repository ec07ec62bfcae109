// paired.h -- how much faster, on a machine that is never quiet.
//
//   const Paired result = measure_paired({.a = [&] { ours(); }, .b = [&] { theirs(); }});
//   result.ratio.median        // time of a divided by time of b
//
// a and b run in turn, each round gives one ratio, and the ratios' median and quartiles are
// reported: what disturbs one round disturbs both sides of it, and one disturbed round moves a
// median little. At least 21 rounds of at most a second each side. Ratios below 1 mean that a is
// faster.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shoal::bench {

struct Quartiles {
  double low = 0;
  double median = 0;
  double high = 0;

  [[nodiscard]] std::string text(int digits) const;  // "0.31 (0.29 .. 0.35)"
};

// Linear between neighbours; at least one value.
Quartiles quartiles_of(std::vector<double> values);

struct Paired {
  Quartiles ratio;      // a / b, round by round
  Quartiles a_seconds;  // per call
  Quartiles b_seconds;
  Quartiles added_seconds;  // a - b, round by round: what a costs on top
};

// Seconds of a clock that only goes forward.
using SecondsNow = double (*)();
double steady_seconds();

struct PairedPlan {
  std::function<void()> a;
  std::function<void()> b;
  int rounds = 21;
  // Calls per side and round. 0: as many as fit `round_seconds`, found by trying. Ranks that
  // measure together must agree on it beforehand (calls_per_round), or they would wait for each
  // other for ever.
  int calls = 0;
  double round_seconds = 0.1;
  SecondsNow now = steady_seconds;
};

Paired measure_paired(const PairedPlan& plan);

// How many calls of `body` take about `seconds`, at least 1: measured over a few calls.
int calls_per_round(const std::function<void()>& body,
                    double seconds,
                    SecondsNow now = steady_seconds);

// Seconds per call, over `calls` calls.
double time_calls(const std::function<void()>& body, int calls, SecondsNow now = steady_seconds);

}  // namespace shoal::bench
