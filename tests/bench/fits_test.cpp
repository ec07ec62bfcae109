#include "shoal/bench/fits.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "shoal/bench/rounds.h"
#include "shoal/core/error.h"

namespace shoal::bench {
namespace {

// Times of products on a device with known properties, each off by up to `noise`, and every
// seventh disturbed to `disturbed` times its length.
std::vector<ProductTime> products_of(const ProductFit& truth, double noise, double disturbed) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<ProductTime> times;
  for (const double rows : {7.0, 33.0, 128.0, 1000.0, 4096.0, 8192.0}) {
    for (const double in : {61.0, 256.0, 1031.0}) {
      for (const double out : {64.0, 509.0, 3072.0}) {
        const double operations = 2 * rows * in * out;
        const double bytes = 4 * (rows * in + rows * out + in * out);
        const double longer = times.size() % 7 == 3 ? disturbed : 1;
        times.push_back(
            {operations, bytes, truth.seconds(operations, bytes) * off(random) * longer});
      }
    }
  }
  return times;
}

TEST(Fits, RecoverTheRateOfProducts) {
  const ProductFit truth{.rate = 1.5e11, .half = 2e6, .bandwidth = 1.3e10};
  const ProductFit exact = fit_products(products_of(truth, 0, 1));
  EXPECT_NEAR(exact.rate / truth.rate, 1, 1e-6);
  EXPECT_NEAR(exact.half / truth.half, 1, 1e-6);
  EXPECT_NEAR(exact.bandwidth / truth.bandwidth, 1, 1e-6);
  EXPECT_LT(exact.error, 1e-6);
  const ProductFit noisy = fit_products(products_of(truth, 0.1, 2.5));
  EXPECT_NEAR(noisy.rate / truth.rate, 1, 0.06);
  EXPECT_NEAR(noisy.half / truth.half, 1, 0.25);
  EXPECT_NEAR(noisy.bandwidth / truth.bandwidth, 1, 0.25);
  EXPECT_GT(noisy.error, 0.05);
}

TEST(Fits, LeaveOutWhatTakesNoTime) {
  const ProductFit truth{.rate = 3e14, .half = 1e9, .bandwidth = 0};
  const ProductFit fit = fit_products(products_of(truth, 0, 1));
  EXPECT_NEAR(fit.rate / truth.rate, 1, 1e-3);
  EXPECT_TRUE(fit.bandwidth == 0 || fit.bandwidth > 1e15) << fit.bandwidth;
  EXPECT_THROW(fit_products({{1, 0, 1}, {1e9, 0, 1}}), UsageError);  // a rate without end
}

TEST(Fits, OfASumHaveNoNegativeFactors) {
  // The second term would need -1.
  const std::vector<double> factors = fit_sum({{2, 1}, {4, 1}, {8, 1}}, {1, 3, 7});
  EXPECT_GE(factors[0], 0);
  EXPECT_EQ(factors[1], 0);
}

std::vector<LinkTime> messages_of(const LinkFit& truth, double noise) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<LinkTime> times;
  for (const double steps : {1.0, 3.0, 6.0}) {
    for (double bytes = 4096; bytes < 1e8; bytes *= 8)
      times.push_back(
          {steps, bytes, (steps * truth.latency + bytes / truth.bandwidth) * off(random)});
  }
  return times;
}

TEST(Fits, RecoverALink) {
  const LinkFit truth{.latency = 17e-6, .bandwidth = 2.5e9};
  const LinkFit fit = fit_link(messages_of(truth, 0.1));
  EXPECT_NEAR(fit.latency / truth.latency, 1, 0.12);
  EXPECT_NEAR(fit.bandwidth / truth.bandwidth, 1, 0.12);
  // What is slow in the middle, where libraries change their algorithms, changes neither.
  std::vector<LinkTime> humped = messages_of(truth, 0);
  for (LinkTime& time : humped)
    if (time.bytes > 1e5 && time.bytes < 1e6) time.seconds *= 3;
  EXPECT_NEAR(fit_link(humped).latency / truth.latency, 1, 0.05);
  EXPECT_NEAR(fit_link(humped).bandwidth / truth.bandwidth, 1, 0.05);
}

TEST(Fits, OfALinkWithoutBytesAreRefused) { EXPECT_THROW(fit_link({{1, 0, 1e-5}}), UsageError); }

TEST(Fits, PointsOfACurveAreMergedAndSorted) {
  const std::vector<RatePoint> points =
      merged({{100, 8}, {1, 3}, {110, 2}, {5, std::nan("")}, {7, -1}, {0, 4}});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[0].size, 1);
  EXPECT_DOUBLE_EQ(points[0].rate, 3);
  EXPECT_NEAR(points[1].size, std::sqrt(11000), 1e-9);
  EXPECT_NEAR(points[1].rate, 4, 1e-9);
}

TEST(Rounds, MeasureAllBodiesInTurn) {
  std::string order;
  const auto times = measure_rounds(
      {.bodies = {[&] { order += 'a'; }, [&] { order += 'b'; }}, .seconds = 0, .call_seconds = 0});
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].size(), static_cast<size_t>(kLeastRounds));
  EXPECT_EQ(order,
            "aabb"
            "ababababab");  // twice at first: the second call says how many fit
  for (const double seconds : times[1]) EXPECT_GE(seconds, 0);
}

}  // namespace
}  // namespace shoal::bench
