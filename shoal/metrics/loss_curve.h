// loss_curve.h -- the losses of a run in little room, and their curve in one line.
//
//   LossCurve curve;
//   for (const StepRecord& record : records) curve.add(record.loss);
//   curve.sparkline(24, /*utf8=*/true);      // "█▇▅▄▄▃▃▂▂▂▁▁▁"
//
// A run may have any number of steps: means of equally many steps are kept, at most kMostMeans of
// them, and whenever there would be more, each two become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::metrics {

class LossCurve {
 public:
  static constexpr size_t kMostMeans = 256;

  // A loss that is not finite is not part of the curve.
  void add(double loss);

  // Returns a curve from the first loss to the last in at most `columns` characters; empty when there
  // are no losses yet. The highest tenth of it is at the top.
  [[nodiscard]] std::string sparkline(size_t columns, bool utf8) const;

 private:
  [[nodiscard]] std::vector<double> means() const;

  std::vector<double> sums_;  // each of steps_per_mean_ losses
  int64_t steps_per_mean_ = 1;
  double open_sum_ = 0;  // of the mean that is not complete yet
  int64_t open_steps_ = 0;
};

}  // namespace shoal::metrics
