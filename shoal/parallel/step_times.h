// step_times.h -- where the time of a step goes.
#pragma once

#include "shoal/core/units.h"

namespace shoal::parallel {

struct StepTimes {
  double forward = 0;  // seconds
  double backward = 0;
};

// Adds the time it lives to a figure, if there is one.
class Timed {
 public:
  explicit Timed(double* sum) : sum_(sum) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() {
    if (sum_ != nullptr) *sum_ += seconds_since(began_);
  }

 private:
  double* sum_;
  Clock::time_point began_ = Clock::now();
};

}  // namespace shoal::parallel
