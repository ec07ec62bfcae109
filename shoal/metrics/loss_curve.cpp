#include "shoal/metrics/loss_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "shoal/metrics/step_record.h"

namespace shoal::metrics {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAscii = {"_", ".", ",", "-", "=", "+", "*", "#"};

}  // namespace

void LossCurve::add(double loss) {
  if (!(std::abs(loss) <= kLargestFigure)) return;
  open_sum_ += loss;
  if (++open_steps_ < steps_per_mean_) return;
  sums_.push_back(open_sum_);
  open_sum_ = 0;
  open_steps_ = 0;
  if (sums_.size() < kMostMeans) return;
  for (size_t i = 0; i < sums_.size() / 2; ++i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  sums_.resize(sums_.size() / 2);
  steps_per_mean_ *= 2;
}

std::vector<double> LossCurve::means() const {
  std::vector<double> means;
  for (const double sum : sums_) means.push_back(sum / static_cast<double>(steps_per_mean_));
  if (open_steps_ > 0) means.push_back(open_sum_ / static_cast<double>(open_steps_));
  return means;
}

std::string LossCurve::sparkline(size_t columns, bool utf8) const {
  const std::vector<double> all = means();
  const size_t count = std::min(columns, all.size());
  std::vector<double> shown;
  for (size_t i = 0; i < count; ++i) {
    const size_t from = i * all.size() / count;
    const size_t to = (i + 1) * all.size() / count;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
    shown.push_back(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(to - from), 0.0) /
                    static_cast<double>(to - from));
  }
  if (shown.empty()) return "";
  // The first losses fall so far, and a spike rises so high, that the rest would be a flat line below
  // them: the highest tenth is cut off at the top.
  std::vector<double> sorted = shown;
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted.front();
  const double range = sorted[(sorted.size() - 1) - sorted.size() / 10] - low;
  std::string line;
  for (const double mean : shown) {
    const double height = range > 0 ? std::min(1.0, (mean - low) / range) : 0;
    const auto level = static_cast<size_t>(std::lround(height * (kBlocks.size() - 1)));
    line += (utf8 ? kBlocks : kAscii)[level];
  }
  return line;
}

}  // namespace shoal::metrics
