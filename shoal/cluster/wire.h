// wire.h -- the layout of the store's messages: little-endian numbers and length-prefixed strings.
//
// WireReader never reads past its end and never allocates more than the bytes it was given: a
// message that claims more than it holds makes ok() false, and every later read returns an empty
// value.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cluster {

class WireWriter {
 public:
  void put_byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void put_u32(uint32_t value) { put_raw(value); }
  void put_i64(int64_t value) { put_raw(value); }
  void put_text(std::string_view text) {
    put_u32(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  void put_texts(const std::vector<std::string>& texts) {
    put_u32(static_cast<uint32_t>(texts.size()));
    for (const std::string& text : texts) put_text(text);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  template <class Number>
  void put_raw(Number value) {  // every supported host is little-endian
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : left_(bytes) {}

  uint8_t take_byte() { return take_raw<uint8_t>(); }
  uint32_t take_u32() { return take_raw<uint32_t>(); }
  int64_t take_i64() { return take_raw<int64_t>(); }
  std::string take_text() { return std::string(take(take_u32())); }
  std::vector<std::string> take_texts() {
    const uint32_t count = take_u32();
    std::vector<std::string> texts;
    // Each text takes at least its own length field, so a count beyond that is a lie: stop before
    // it costs memory.
    if (count > left_.size() / sizeof(uint32_t)) ok_ = false;
    for (uint32_t i = 0; ok_ && i < count; ++i) texts.push_back(take_text());
    return texts;
  }

  [[nodiscard]] bool ok() const { return ok_; }                         // no read went past the end
  [[nodiscard]] bool finished() const { return ok_ && left_.empty(); }  // and nothing is left over

 private:
  std::string_view take(size_t count) {
    if (!ok_ || count > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  template <class Number>
  Number take_raw() {
    const std::string_view taken = take(sizeof(Number));
    Number value{};
    if (!taken.empty()) std::memcpy(&value, taken.data(), sizeof(value));
    return value;
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace shoal::cluster
