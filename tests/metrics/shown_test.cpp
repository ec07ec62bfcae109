#include "shoal/metrics/shown.h"

#include <limits>

#include <gtest/gtest.h>

namespace shoal::metrics {
namespace {

TEST(Shown, Losses) {
  EXPECT_EQ(shown(4.12345678, Show::kLoss), "4.1235");
  EXPECT_EQ(shown(10.9, Show::kLoss), "10.9000");
  EXPECT_EQ(shown(123.456, Show::kLoss), "123.5");
  EXPECT_EQ(shown(1e9, Show::kLoss), "1.00e+9");
  EXPECT_EQ(shown(std::numeric_limits<double>::quiet_NaN(), Show::kLoss), "nan");
  EXPECT_EQ(shown(-std::numeric_limits<double>::infinity(), Show::kLoss), "-inf");
}

TEST(Shown, LearningRates) {
  EXPECT_EQ(shown(3e-4, Show::kPower), "3.00e-4");
  EXPECT_EQ(shown(1.25e-10, Show::kPower), "1.25e-10");
  EXPECT_EQ(shown(0.0, Show::kPower), "0");
}

TEST(Shown, PlainFigures) {
  EXPECT_EQ(shown(0.8123, Show::kPlain), "0.812");
  EXPECT_EQ(shown(12.3456, Show::kPlain), "12.346");
  EXPECT_EQ(shown(123.456, Show::kPlain), "123.5");
  EXPECT_EQ(shown(12345.6, Show::kPlain), "12346");
  EXPECT_EQ(shown(123456.0, Show::kPlain), "1.23e+5");
  EXPECT_EQ(shown(1e-5, Show::kPlain), "1.00e-5");
  EXPECT_EQ(shown(0.0, Show::kPlain), "0.000");
}

TEST(Shown, Times) {
  EXPECT_EQ(shown(0.0045, Show::kTime), "4.5 ms");
  EXPECT_EQ(shown(0.45, Show::kTime), "450 ms");
  EXPECT_EQ(shown(0.9996, Show::kTime), "1.00 s");
  EXPECT_EQ(shown(3.214, Show::kTime), "3.21 s");
  EXPECT_EQ(shown(9.996, Show::kTime), "10.0 s");
  EXPECT_EQ(shown(59.96, Show::kTime), "1m00s");
  EXPECT_EQ(shown(200.0, Show::kTime), "3m20s");
  EXPECT_EQ(shown(3599.7, Show::kTime), "1h00m");
  EXPECT_EQ(shown(3725.0, Show::kTime), "1h02m");
  EXPECT_EQ(shown(86399.0, Show::kTime), "1d00h");
  EXPECT_EQ(shown(183600.0, Show::kTime), "2d03h");
  EXPECT_EQ(shown(1e20, Show::kTime), "1.00e+20 s");
  EXPECT_EQ(shown(-0.5, Show::kTime), "-500 ms");
}

TEST(Shown, RatesSharesAndBytes) {
  EXPECT_EQ(shown(12345.0, Show::kRate), "12.3k");
  EXPECT_EQ(shown(0.37, Show::kRate), "0.4");
  EXPECT_EQ(shown(999.96, Show::kRate), "1.0k");
  EXPECT_EQ(shown(int64_t{819'100'000'000}, Show::kRate), "819.1G");
  EXPECT_EQ(shown(0.4123, Show::kShare), "41.2%");
  EXPECT_EQ(shown(int64_t{1'288'490'189}, Show::kBytes), "1.2 GiB");
  EXPECT_EQ(shown(int64_t{1023}, Show::kBytes), "1023 B");
}

TEST(Shown, WholeNumbers) { EXPECT_EQ(shown(int64_t{1'234'567}, Show::kWhole), "1234567"); }

}  // namespace
}  // namespace shoal::metrics
