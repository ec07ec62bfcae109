#include "shoal/config/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "shoal/config/text.h"
#include "shoal/core/format.h"
#include "shoal/core/nearest.h"
#include "shoal/core/number_in.h"

namespace shoal::config {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Words that YAML readers take for something else than text, in lower case.
constexpr std::array<std::string_view, 12> kReserved = {
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "auto", "inf", "nan"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

Refusal refuse_quotes(const YamlNode& node, std::string_view wanted) {
  return {.what = format("{} is in quotes, which makes it text, not {}", shown(node.text), wanted),
          .hint = format("write {} without quotes", shown(node.text))};
}

// -?(0|[1-9][0-9]*)
bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return all_digits(text) && (text == "0" || text.front() != '0');
}

// The whole number that a spelling of other languages stands for, as the digits to write instead.
std::optional<std::string> digits_meant(std::string_view text) {
  std::string bare(text);
  bare.erase(std::remove(bare.begin(), bare.end(), '_'), bare.end());
  if (bare.starts_with('+')) bare.erase(0, 1);
  if (is_decimal(bare)) return bare;
  if (bare.starts_with("0x") || bare.starts_with("0X")) {
    const auto value = number_in<uint64_t>(std::string_view(bare).substr(2), 16);
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  }
  if (const std::optional<int64_t> count = parse_count(bare)) return std::to_string(*count);
  const auto value = number_in<double>(bare);
  constexpr double kMaxExact = 9007199254740992.0;
  const bool whole = value && *value == std::floor(*value) && std::abs(*value) <= kMaxExact;
  return whole ? std::optional(std::to_string(static_cast<int64_t>(*value))) : std::nullopt;
}

Refusal refuse_integer(std::string_view text) {
  Refusal refusal{.what = format("{} is not a whole number in plain digits", shown(text))};
  const std::optional<std::string> meant = digits_meant(text);
  const bool octal = text.size() > 1 && text.front() == '0' && all_digits(text);
  if (octal) {
    const std::string_view digits =
        text.substr(std::min(text.find_first_not_of('0'), text.size() - 1));
    refusal.hint = format("write {}: some readers take a leading 0 for octal", shown(digits));
  } else if (meant) {
    refusal.hint = format("write {}", shown(*meant));
  }
  return refusal;
}

template <class Integer>
Verdict read_integer(const YamlNode& node, Integer& out) {
  const std::string& text = node.text;
  if (node.quoted) return refuse_quotes(node, "a whole number");
  if (!is_decimal(text)) return refuse_integer(text);
  if (const auto value = number_in<Integer>(text)) {
    out = *value;
    return std::nullopt;
  }
  using Limits = std::numeric_limits<Integer>;
  if (text.starts_with('-')) {
    return Refusal{
        .what = format("{} is less than {}, the smallest value", shown(text), Limits::min())};
  }
  return Refusal{.what =
                     format("{} is more than {}, the largest value", shown(text), Limits::max())};
}

}  // namespace

Verdict read_value(const YamlNode& node, bool& out) {
  if (node.quoted) return refuse_quotes(node, "true or false");
  if (node.text == "true" || node.text == "false") {
    out = node.text == "true";
    return std::nullopt;
  }
  Refusal refusal{.what = format("{} is not true or false", shown(node.text))};
  const std::string lower = lower_case(node.text);
  for (const std::string_view yes : {"true", "yes", "on", "y", "1"}) {
    if (lower == yes) refusal.hint = "write true";
  }
  for (const std::string_view no : {"false", "no", "off", "n", "0"}) {
    if (lower == no) refusal.hint = "write false";
  }
  return refusal;
}

Verdict read_value(const YamlNode& node, int& out) { return read_integer(node, out); }

Verdict read_value(const YamlNode& node, int64_t& out) { return read_integer(node, out); }

Verdict read_value(const YamlNode& node, uint64_t& out) { return read_integer(node, out); }

Verdict read_value(const YamlNode& node, double& out) {
  if (node.quoted) return refuse_quotes(node, "a number");
  const std::string& text = node.text;
  const bool plain = text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (plain && error == std::errc::result_out_of_range) {
    return Refusal{.what = format("{} does not fit into a double", shown(text))};
  }
  if (!plain || error != std::errc() || stop != end) {
    return Refusal{.what = format("{} is not a number", shown(text))};
  }
  out = value;
  return std::nullopt;
}

Verdict read_value(const YamlNode& node, std::string& out) {
  if (std::any_of(node.text.begin(), node.text.end(), is_control)) {
    return Refusal{.what = format("{} holds a control character", shown(node.text)),
                   .hint = "write it on one line, without tabs and escapes"};
  }
  out = node.text;
  return std::nullopt;
}

Verdict read_value(const YamlNode& node, Duration& out) {
  if (const std::optional<Duration> duration = parse_duration(node.text)) {
    out = *duration;
    return std::nullopt;
  }
  if (all_digits(node.text)) {
    return Refusal{.what = format("{} has no unit", shown(node.text)),
                   .hint = format("write {0}s, {0}m or {0}h", shown(node.text))};
  }
  return Refusal{.what = format("{} is not a time", shown(node.text))};
}

Verdict read_value(const YamlNode& node, Bytes& out) {
  const std::optional<int64_t> count = parse_bytes(node.text);
  if (!count) return Refusal{.what = format("{} is not a size", shown(node.text))};
  out = Bytes{*count};
  return std::nullopt;
}

Verdict read_choice(const YamlNode& node, const std::vector<std::string_view>& names, size_t& out) {
  const auto found = std::find(names.begin(), names.end(), node.text);
  if (found != names.end()) {
    out = static_cast<size_t>(found - names.begin());
    return std::nullopt;
  }
  std::string known;
  for (const std::string_view name : names)
    known += (known.empty() ? "" : ", ") + std::string(name);
  Refusal refusal{.what = format("{} is not one of {}", shown(node.text), known)};
  if (const auto meant = nearest(lower_case(node.text), names)) {
    refusal.hint = format("did you mean {}?", *meant);
  }
  return refusal;
}

std::string write_value(bool value) { return value ? "true" : "false"; }

std::string write_value(int value) { return std::to_string(value); }

std::string write_value(int64_t value) { return std::to_string(value); }

std::string write_value(uint64_t value) { return std::to_string(value); }

std::string write_value(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  // YAML 1.1 readers, Python's among them, take a number for one only with a point in it.
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

std::string write_value(const std::string& value) {
  const std::string lower = lower_case(value);
  const bool word =
      !value.empty() &&
      lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_/.-") == std::string::npos;
  const bool starts_like_text =
      word && std::string_view("0123456789.-").find(value[0]) == std::string::npos;
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), lower) != kReserved.end();
  if (starts_like_text && !reserved) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (is_control(c)) {
      quoted += format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string write_value(Duration value) { return format_duration(value); }

std::string write_value(Bytes value) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int64_t count = value.count;
  size_t unit = 0;
  while (count != 0 && count % 1024 == 0 && unit + 1 < kUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return format("{} {}", count, kUnits[unit]);
}

}  // namespace shoal::config
