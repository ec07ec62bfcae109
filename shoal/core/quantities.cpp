#include "shoal/core/quantities.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "shoal/core/format.h"

namespace shoal {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 12> kByteUnits = {{{"", 1},
                                              {"B", 1},
                                              {"kB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"PB", 1e15},
                                              {"KiB", 1024.0},
                                              {"MiB", 1048576.0},
                                              {"GiB", 1073741824.0},
                                              {"TiB", 1099511627776.0},
                                              {"PiB", 1125899906842624.0}}};
constexpr std::array<Unit, 5> kCountUnits = {
    {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
constexpr std::array<Unit, 5> kTimeUnits = {
    {{"d", 86400e3}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}, {"ms", 1}}};

// Doubles hold every integer up to here, so a parsed value is exact or refused.
constexpr double kMaxExact = 9007199254740992.0;

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Takes a plain decimal number (no sign, exponent, inf or nan) off the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number);
  if (error != std::errc() || stop != text.data() + end) return std::nullopt;
  text.remove_prefix(end);
  return number;
}

template <size_t kSize>
std::optional<double> factor_of(std::string_view unit, const std::array<Unit, kSize>& units) {
  for (const Unit& candidate : units) {
    if (candidate.name == unit) return candidate.factor;
  }
  return std::nullopt;
}

template <size_t kSize>
std::optional<int64_t> parse_scaled(std::string_view text, const std::array<Unit, kSize>& units) {
  text = trim(text);
  const std::optional<double> number = take_number(text);
  const std::optional<double> factor = factor_of(trim(text), units);
  if (!number || !factor) return std::nullopt;
  const double value = *number * *factor;
  if (value > kMaxExact || value != std::floor(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::string format_scaled(double value,
                          double step,
                          std::initializer_list<const char*> units,
                          int digits) {
  const char* unit = *units.begin();
  double scaled = value;
  for (const char* candidate : units) {
    unit = candidate;
    if (std::abs(scaled) < step || candidate == *(units.end() - 1)) break;
    scaled /= step;
  }
  if (scaled == value) return format("{:.0f}{}", value, unit);
  return format("{:.{}f}{}", scaled, digits, unit);
}

}  // namespace

std::optional<int64_t> parse_bytes(std::string_view text) { return parse_scaled(text, kByteUnits); }

std::string format_bytes(int64_t bytes) {
  return format_scaled(static_cast<double>(bytes), 1024,
                       {" B", " KiB", " MiB", " GiB", " TiB", " PiB"}, 2);
}

std::optional<int64_t> parse_count(std::string_view text) {
  return parse_scaled(text, kCountUnits);
}

std::string format_count(int64_t count) {
  return format_scaled(static_cast<double>(count), 1000, {"", "k", "M", "G", "T"}, 1);
}

std::optional<Duration> parse_duration(std::string_view text) {
  text = trim(text);
  if (text == "0") return Duration::zero();
  if (text.empty()) return std::nullopt;
  double total = 0;
  double previous_factor = HUGE_VAL;
  while (!text.empty()) {
    const std::optional<double> number = take_number(text);
    const size_t end = std::min(text.find_first_of("0123456789."), text.size());
    const std::optional<double> factor = factor_of(text.substr(0, end), kTimeUnits);
    if (!number || !factor || *factor >= previous_factor) return std::nullopt;
    previous_factor = *factor;
    total += *number * *factor;
    text.remove_prefix(end);
  }
  if (total > kMaxExact) return std::nullopt;
  return Duration(static_cast<int64_t>(std::llround(total)));
}

std::string format_duration(Duration duration) {
  int64_t left = duration.count();
  if (left < 0) return "-" + format_duration(-duration);
  if (left == 0) return "0s";
  std::string text;
  for (const Unit& unit : kTimeUnits) {
    const auto size = static_cast<int64_t>(unit.factor);
    if (left >= size) text += format("{}{}", left / size, unit.name);
    left %= size;
  }
  return text;
}

}  // namespace shoal
