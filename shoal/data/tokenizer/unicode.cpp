#include "shoal/data/tokenizer/unicode.h"

#include <array>
#include <memory>

namespace shoal::data {
namespace {

constexpr uint32_t kNumCodePoints = 0x110000;

struct Run {
  uint32_t first;
  CharClass kind;
};

using enum CharClass;

constexpr Run kRuns[] = {
#include "shoal/data/tokenizer/unicode_runs.inc"
};

using ClassTable = std::array<CharClass, kNumCodePoints>;

std::unique_ptr<const ClassTable> make_class_table() {
  auto table = std::make_unique<ClassTable>();
  for (size_t i = 0; i < std::size(kRuns); ++i) {
    const uint32_t end = i + 1 < std::size(kRuns) ? kRuns[i + 1].first : kNumCodePoints;
    std::fill(table->begin() + kRuns[i].first, table->begin() + end, kRuns[i].kind);
  }
  return table;
}

// One byte for each code point: a text touches few of its pages.
const ClassTable& class_table() {
  static const std::unique_ptr<const ClassTable> table = make_class_table();
  return *table;
}

constexpr std::array<CharClass, 128> make_ascii_classes() {
  std::array<CharClass, 128> classes{};
  size_t run = 0;
  for (uint32_t code_point = 0; code_point < classes.size(); ++code_point) {
    if (kRuns[run + 1].first == code_point) ++run;
    classes[code_point] = kRuns[run].kind;
  }
  return classes;
}

constexpr bool continues(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// How many bytes the sequence with this first byte has; 1 for bytes that begin none.
constexpr int sequence_bytes(unsigned char first) {
  if (first >= 0xC2U && first <= 0xDFU) return 2;
  if (first >= 0xE0U && first <= 0xEFU) return 3;
  if (first >= 0xF0U && first <= 0xF4U) return 4;
  return 1;
}

// Over-long forms, surrogates and code points beyond the last show in the second byte.
constexpr bool may_follow(unsigned char first, unsigned char second) {
  if (!continues(second)) return false;
  if (first == 0xE0U) return second >= 0xA0U;
  if (first == 0xEDU) return second < 0xA0U;
  if (first == 0xF0U) return second >= 0x90U;
  if (first == 0xF4U) return second < 0x90U;
  return true;
}

unsigned char byte_at(const char* at, int offset) { return static_cast<unsigned char>(at[offset]); }

}  // namespace

constinit const std::array<CharClass, 128> kAsciiClass = make_ascii_classes();

CharClass class_of(uint32_t code_point) {
  return code_point < kNumCodePoints ? class_table()[code_point] : kOther;
}

Rune read_long_rune(const char* at, const char* end) {
  const unsigned char first = byte_at(at, 0);
  const int bytes = sequence_bytes(first);
  if (bytes == 1 || end - at < bytes || !may_follow(first, byte_at(at, 1))) return {kOther, 1};
  uint32_t code_point = first & (0xFFU >> (bytes + 1));
  for (int i = 1; i < bytes; ++i) {
    if (!continues(byte_at(at, i))) return {kOther, 1};
    code_point = code_point << 6U | (byte_at(at, i) & 0x3FU);
  }
  return {class_table()[code_point], bytes};
}

bool is_cut_short(const char* at, const char* end) {
  const unsigned char first = byte_at(at, 0);
  const int bytes = sequence_bytes(first);
  const auto there = static_cast<int>(end - at);
  if (there >= bytes) return false;
  if (there >= 2 && !may_follow(first, byte_at(at, 1))) return false;
  return there < 3 || continues(byte_at(at, 2));
}

}  // namespace shoal::data
