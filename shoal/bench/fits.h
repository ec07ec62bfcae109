// fits.h -- rates and overheads from measured times.
//
//   const ProductFit fit = fit_products(times);       // operations, bytes and seconds of products
//   fit.rate, fit.half                                // of large ones; operations of one that reaches half
//
// Errors are relative, so that a small message counts as much as a large one, and a few disturbed
// times move a fit little.
#pragma once

#include <vector>

namespace shoal::bench {

// Returns factors, none below 0, with which the sum of each row's terms comes close to its value.
// Values are above 0. A term that no row has gets 0.
std::vector<double> fit_sum(const std::vector<std::vector<double>>& rows,
                            const std::vector<double>& values);

struct ProductTime {
  double operations = 0;
  double bytes = 0;  // of its three matrices
  double seconds = 0;
};

// seconds = (operations + half) / rate + bytes / bandwidth
struct ProductFit {
  double rate = 0;       // operations per second
  double half = 0;       // operations
  double bandwidth = 0;  // bytes per second; 0: bytes take no time of their own
  double error = 0;      // mean error of the fit, as a share

  [[nodiscard]] double seconds(double operations, double bytes) const;
};

// Throws UsageError when the times fit no rate.
ProductFit fit_products(const std::vector<ProductTime>& times);

struct LinkTime {
  double steps = 0;  // messages one after the other
  double bytes = 0;  // that a rank sends
  double seconds = 0;
};

// seconds = steps * latency + bytes / bandwidth
struct LinkFit {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes per second
  double error = 0;
};

// Takes the latency from the shortest messages, and the bandwidth from the longest: in between,
// libraries change their algorithms. Throws UsageError when the times fit no bandwidth.
LinkFit fit_link(const std::vector<LinkTime>& times);

struct RatePoint {
  double size = 0;
  double rate = 0;
};

// Returns points in ascending order of size; those whose sizes differ by less than `apart` are
// merged, their rates by the geometric mean. Points without a positive rate are left out.
std::vector<RatePoint> merged(std::vector<RatePoint> points, double apart = 1.5);

}  // namespace shoal::bench
