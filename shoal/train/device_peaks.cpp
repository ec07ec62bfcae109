#include "shoal/train/device_peaks.h"

#include <array>

namespace shoal::train {
namespace {

// Peaks in 1e12 operations per second. The first whose name is a part of the device's counts.
struct Peaks {
  std::string_view name;
  double half;  // bf16 and fp16 with sums in fp32
  double tf32;
  double fp32;
};

constexpr std::array kPeaks = {Peaks{"GB200", 2500, 1250, 80},
                               Peaks{"B200", 2250, 1125, 75},
                               Peaks{"H200 NVL", 835, 418, 60},
                               Peaks{"H200", 989.4, 494.7, 66.9},
                               Peaks{"H100 PCIe", 756, 378, 51},
                               Peaks{"H100 NVL", 835, 418, 60},
                               Peaks{"H100", 989.4, 494.7, 66.9},
                               Peaks{"GH200", 989.4, 494.7, 66.9},
                               Peaks{"H20", 148, 74, 44},
                               Peaks{"A100", 312, 156, 19.5},
                               Peaks{"A800", 312, 156, 19.5},
                               Peaks{"A40", 149.7, 74.8, 37.4},
                               Peaks{"A10G", 70, 35, 31.2},
                               Peaks{"A10", 125, 62.5, 31.2},
                               Peaks{"L40S", 362, 183, 91.6},
                               Peaks{"L4", 121, 60, 30.3},
                               Peaks{"MI300X", 1307.4, 653.7, 163.4}};

}  // namespace

std::optional<double> dense_peak(std::string_view device_name, config::Precision precision) {
  for (const Peaks& peaks : kPeaks) {
    if (device_name.find(peaks.name) == std::string_view::npos) continue;
    switch (precision) {
      case config::Precision::kBf16:
      case config::Precision::kFp16:
        return peaks.half * 1e12;
      case config::Precision::kTf32:
        return peaks.tf32 * 1e12;
      case config::Precision::kFp32:
        return peaks.fp32 * 1e12;
      case config::Precision::kFp64:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace shoal::train
