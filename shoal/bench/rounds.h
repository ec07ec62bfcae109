// rounds.h -- the times of many functions, measured in turn, so that a slow minute of the machine
// slows all of them.
//
//   const std::vector<std::vector<double>> seconds = measure_rounds({.bodies = bodies, .seconds = 10});
//   undisturbed(seconds[0])                           // of one call of the first
#pragma once

#include <functional>
#include <vector>

#include "shoal/bench/paired.h"

namespace shoal::bench {

struct RoundsPlan {
  std::vector<std::function<void()>> bodies;
  double seconds = 10;         // of all rounds together, about
  double call_seconds = 2e-3;  // a body is repeated until this has passed
  // Called behind the calls of a body, within its time: what waits for a GPU.
  std::function<void()> finish = [] {};
  std::function<void(double share)> progress = [](double) {};
  SecondsNow now = steady_seconds;
};

// Returns the seconds of a call by body and round. There are at least kLeastRounds, however long
// they take.
constexpr int kLeastRounds = 5;
std::vector<std::vector<double>> measure_rounds(const RoundsPlan& plan);

}  // namespace shoal::bench
