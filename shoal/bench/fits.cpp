#include "shoal/bench/fits.h"

#include <algorithm>
#include <cmath>

#include "shoal/bench/paired.h"
#include "shoal/core/error.h"

namespace shoal::bench {
namespace {

using Row = std::vector<double>;

// Solves a symmetric system of a few unknowns by elimination; an unknown that nothing determines
// becomes 0.
Row solve(std::vector<Row> matrix, Row right) {
  const size_t n = right.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t k = i + 1; k < n; ++k)
      if (std::abs(matrix[k][i]) > std::abs(matrix[pivot][i])) pivot = k;
    std::swap(matrix[i], matrix[pivot]);
    std::swap(right[i], right[pivot]);
    if (std::abs(matrix[i][i]) < 1e-12) {
      matrix[i].assign(n, 0);
      matrix[i][i] = 1;
      right[i] = 0;
      continue;
    }
    for (size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double factor = matrix[k][i] / matrix[i][i];
      for (size_t j = i; j < n; ++j) matrix[k][j] -= factor * matrix[i][j];
      right[k] -= factor * right[i];
    }
  }
  for (size_t i = 0; i < n; ++i) right[i] /= matrix[i][i];
  return right;
}

double sum_of(const Row& terms, const Row& factors) {
  double sum = 0;
  for (size_t i = 0; i < terms.size(); ++i) sum += terms[i] * factors[i];
  return sum;
}

// Least squares with weights; terms that are not `used` get 0. Rows are relative to their values.
Row weighted(const std::vector<Row>& rows, const Row& weights, const std::vector<bool>& used) {
  const size_t n = used.size();
  std::vector<Row> matrix(n, Row(n, 0));
  Row right(n, 0);
  for (size_t k = 0; k < rows.size(); ++k) {
    for (size_t i = 0; i < n; ++i) {
      if (!used[i]) continue;
      right[i] += weights[k] * rows[k][i];
      for (size_t j = 0; j < n; ++j)
        if (used[j]) matrix[i][j] += weights[k] * rows[k][i] * rows[k][j];
    }
  }
  return solve(std::move(matrix), std::move(right));
}

// The sum of absolute errors is made small by squares whose weights are the errors' reciprocals.
Row robust(const std::vector<Row>& rows, const std::vector<bool>& used) {
  constexpr int kTimes = 30;
  constexpr double kNoise = 0.01;  // errors below this are all alike
  Row weights(rows.size(), 1);
  Row factors;
  for (int i = 0; i < kTimes; ++i) {
    factors = weighted(rows, weights, used);
    for (size_t k = 0; k < rows.size(); ++k)
      weights[k] = 1 / std::max(std::abs(sum_of(rows[k], factors) - 1), kNoise);
  }
  return factors;
}

double mean_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double sum = 0;
  for (size_t i = 0; i < measured.size(); ++i) sum += std::abs(predicted[i] / measured[i] - 1);
  return sum / static_cast<double>(measured.size());
}

}  // namespace

std::vector<double> fit_sum(const std::vector<Row>& rows, const std::vector<double>& values) {
  SHOAL_CHECK(!rows.empty() && rows.size() == values.size(), "{} rows and {} values", rows.size(),
              values.size());
  const size_t terms = rows.front().size();
  // Terms differ by many orders of magnitude: each is divided by its largest.
  Row scale(terms, 0);
  for (const Row& row : rows)
    for (size_t i = 0; i < terms; ++i) scale[i] = std::max(scale[i], std::abs(row[i]));
  std::vector<Row> relative = rows;
  double largest = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    for (size_t i = 0; i < terms; ++i) {
      relative[k][i] = scale[i] > 0 ? rows[k][i] / scale[i] / values[k] : 0;
      largest = std::max(largest, relative[k][i]);
    }
  }
  for (Row& row : relative)
    for (double& term : row) term /= largest;
  std::vector<bool> used(terms, true);
  Row factors;
  for (;;) {  // at most once for each term: one that would be below 0 is left out
    factors = robust(relative, used);
    const auto lowest = std::min_element(factors.begin(), factors.end());
    if (*lowest >= 0) break;
    used[static_cast<size_t>(lowest - factors.begin())] = false;
    *lowest = 0;
  }
  for (size_t i = 0; i < terms; ++i)
    factors[i] = scale[i] > 0 ? factors[i] / largest / scale[i] : 0;
  return factors;
}

double ProductFit::seconds(double operations, double bytes) const {
  return (operations + half) / rate + (bandwidth > 0 ? bytes / bandwidth : 0);
}

ProductFit fit_products(const std::vector<ProductTime>& times) {
  std::vector<Row> rows;
  Row seconds;
  for (const ProductTime& time : times) {
    rows.push_back({time.operations, time.bytes, 1});
    seconds.push_back(time.seconds);
  }
  const Row factors = fit_sum(rows, seconds);
  if (factors[0] <= 0)
    throw UsageError("the measured products fit no rate: measure again when the host is quiet");
  ProductFit fit{.rate = 1 / factors[0],
                 .half = factors[2] / factors[0],
                 .bandwidth = factors[1] > 0 ? 1 / factors[1] : 0};
  Row predicted;
  for (const ProductTime& time : times)
    predicted.push_back(fit.seconds(time.operations, time.bytes));
  fit.error = mean_error(predicted, seconds);
  return fit;
}

LinkFit fit_link(const std::vector<LinkTime>& times) {
  SHOAL_CHECK(!times.empty(), "a link without times");
  const auto [least, most] =
      std::minmax_element(times.begin(), times.end(),
                          [](const LinkTime& a, const LinkTime& b) { return a.bytes < b.bytes; });
  const double shortest = least->bytes * 4;
  const double longest = most->bytes / 4;
  LinkFit fit;
  std::vector<double> bandwidths;
  // Each needs the other, and both are known after a few turns: one is small beside the other.
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<double> latencies;
    bandwidths.clear();
    for (const LinkTime& time : times) {
      const double moving = fit.bandwidth > 0 ? time.bytes / fit.bandwidth : 0;
      if (time.bytes <= shortest && time.steps > 0)
        latencies.push_back(std::max(0.0, time.seconds - moving) / time.steps);
    }
    fit.latency = latencies.empty() ? 0 : quartiles_of(latencies).median;
    for (const LinkTime& time : times) {
      const double rest = time.seconds - time.steps * fit.latency;
      if (time.bytes >= longest && rest > 0) bandwidths.push_back(time.bytes / rest);
    }
    if (bandwidths.empty() || most->bytes <= 0)
      throw UsageError(
          "the measured messages fit no bandwidth: measure larger ones, such as --size \"64 MiB\"");
    fit.bandwidth = quartiles_of(bandwidths).median;
  }
  Row predicted;
  Row seconds;
  for (const LinkTime& time : times) {
    predicted.push_back(time.steps * fit.latency + time.bytes / fit.bandwidth);
    seconds.push_back(time.seconds);
  }
  fit.error = mean_error(predicted, seconds);
  return fit;
}

std::vector<RatePoint> merged(std::vector<RatePoint> points, double apart) {
  std::erase_if(points, [](const RatePoint& point) {
    return !(point.size > 0) || !(point.rate > 0) || !std::isfinite(point.rate);
  });
  std::sort(points.begin(), points.end(),
            [](const RatePoint& a, const RatePoint& b) { return a.size < b.size; });
  std::vector<RatePoint> result;
  for (size_t first = 0; first < points.size();) {
    double size = 0;
    double rate = 0;
    size_t end = first;
    for (; end < points.size() && points[end].size < apart * points[first].size; ++end) {
      size += std::log(points[end].size);
      rate += std::log(points[end].rate);
    }
    const auto count = static_cast<double>(end - first);
    result.push_back({std::exp(size / count), std::exp(rate / count)});
    first = end;
  }
  return result;
}

}  // namespace shoal::bench
