#include "shoal/metrics/shown.h"

#include <cmath>
#include <initializer_list>

#include "shoal/core/format.h"

namespace shoal::metrics {
namespace {

double as_double(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// "12.3k": the largest unit in which the number is not below one once it is rounded.
std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  double size = value;
  const char* const* unit = units.begin();
  while (std::abs(size) >= step - 0.05 && unit + 1 != units.end()) {
    size /= step;
    ++unit;
  }
  const bool whole = unit == units.begin() && size == std::round(size);
  return format(whole ? "{:.0f}{}" : "{:.1f}{}", size, *unit);
}

// "3.00e-4": the exponent without the zero that printf puts before it.
std::string power(double value) {
  if (value == 0) return "0";
  std::string text = format("{:.2e}", value);
  const size_t exponent = text.find('e') + 2;
  if (text[exponent] == '0') text.erase(exponent, 1);
  return text;
}

// About four digits, and powers of ten where those would not do.
std::string plain(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 0.0005 || size >= 99999.5)) return power(value);
  if (size < 99.9995) return format("{:.3f}", value);
  return format(size < 999.95 ? "{:.1f}" : "{:.0f}", value);
}

// The bounds are where rounding would show 1000 ms, 10.00 s or 60.0 s.
std::string time(double seconds) {
  if (seconds < 0) return "-" + time(-seconds);
  if (seconds < 0.00995) return format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return format("{:.0f} ms", seconds * 1e3);
  if (seconds < 9.995) return format("{:.2f} s", seconds);
  if (seconds < 59.95) return format("{:.1f} s", seconds);
  const auto pair = [](double units, int64_t of, const char* pattern) {
    const auto whole = static_cast<int64_t>(std::llround(units));
    return format(pattern, whole / of, whole % of);
  };
  if (seconds < 3599.5) return pair(seconds, 60, "{}m{:02}s");
  if (seconds < 86370) return pair(seconds / 60, 60, "{}h{:02}m");
  if (seconds < 3600e6) return pair(seconds / 3600, 24, "{}d{:02}h");
  return power(seconds) + " s";
}

}  // namespace

std::string shown(const Number& number, Show show) {
  if (!finite(number)) return exact(number);
  const double value = as_double(number);
  switch (show) {
    case Show::kWhole:
      return exact(number);
    case Show::kLoss:
      return std::abs(value) < 99.99995 ? format("{:.4f}", value) : plain(value);
    case Show::kPower:
      return power(value);
    case Show::kPlain:
      return plain(value);
    case Show::kTime:
      return time(value);
    case Show::kRate:
      return scaled(value, 1000, {"", "k", "M", "G", "T"});
    case Show::kShare:
      return format("{:.1f}%", value * 100);
    case Show::kBytes:
      return scaled(value, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
  }
  return exact(number);
}

}  // namespace shoal::metrics
