#include "shoal/train/device_peaks.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

using config::Precision;

TEST(DevicePeaks, KnowsDevicesByTheNamesThatDriversGiveThem) {
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA H100 80GB HBM3", Precision::kBf16), 989.4e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA H100 PCIe", Precision::kFp16), 756e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA A100-SXM4-40GB", Precision::kTf32), 156e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA A100-PCIE-40GB", Precision::kFp32), 19.5e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA L40S", Precision::kBf16), 362e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA L4", Precision::kBf16), 121e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA L40", Precision::kBf16), 181e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA GH200 480GB", Precision::kBf16), 989.4e12);
  EXPECT_DOUBLE_EQ(*dense_peak("NVIDIA B200", Precision::kBf16), 2250e12);
}

TEST(DevicePeaks, SaysNothingOfOthers) {
  EXPECT_FALSE(dense_peak("NVIDIA GeForce GT 1030", Precision::kFp32));
  EXPECT_FALSE(dense_peak("NVIDIA H100 80GB HBM3", Precision::kFp64));
  EXPECT_FALSE(dense_peak("", Precision::kBf16));
  for (const char* other :
       {"NVIDIA RTX A4000", "NVIDIA RTX A1000 6GB Laptop GPU", "NVIDIA A10M", "NVIDIA L40G"})
    EXPECT_FALSE(dense_peak(other, Precision::kBf16)) << other;
}

}  // namespace
}  // namespace shoal::train
