#include "shoal/train/device_peaks.h"

#include <array>
#include <cctype>

namespace shoal::train {
namespace {

// Peaks in 1e12 operations per second. The first whose name is among the words of the device's counts:
// an RTX A1000 is no A100.
struct Peaks {
  std::string_view name;
  double half;  // bf16 and fp16 with sums in fp32
  double tf32;
  double fp32;
};

constexpr std::array kPeaks = {
    Peaks{"GB200", 2500, 1250, 80},    Peaks{"B200", 2250, 1125, 75},
    Peaks{"H200 NVL", 835, 418, 60},   Peaks{"H200", 989.4, 494.7, 66.9},
    Peaks{"H100 PCIe", 756, 378, 51},  Peaks{"H100 NVL", 835, 418, 60},
    Peaks{"H100", 989.4, 494.7, 66.9}, Peaks{"GH200", 989.4, 494.7, 66.9},
    Peaks{"H20", 148, 74, 44},         Peaks{"A100", 312, 156, 19.5},
    Peaks{"A800", 312, 156, 19.5},     Peaks{"A40", 149.7, 74.8, 37.4},
    Peaks{"A10G", 70, 35, 31.2},       Peaks{"A10", 125, 62.5, 31.2},
    Peaks{"L40S", 362, 183, 91.6},     Peaks{"L40", 181, 90.5, 90.5},
    Peaks{"L4", 121, 60, 30.3},        Peaks{"MI300X", 1307.4, 653.7, 163.4}};

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool has_words(std::string_view name, std::string_view words) {
  for (size_t at = name.find(words); at != std::string_view::npos; at = name.find(words, at + 1)) {
    const size_t end = at + words.size();
    const bool begins = at == 0 || !is_letter_or_digit(name[at - 1]);
    if (begins && (end == name.size() || !is_letter_or_digit(name[end]))) return true;
  }
  return false;
}

}  // namespace

std::optional<double> dense_peak(std::string_view device_name, config::Precision precision) {
  for (const Peaks& peaks : kPeaks) {
    if (!has_words(device_name, peaks.name)) continue;
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
