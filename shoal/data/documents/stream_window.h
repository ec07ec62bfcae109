// stream_window.h -- the part of a stream that is in memory: it grows at its end and is dropped at
// its front. Private to documents/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/data/documents/document.h"

namespace shoal::data {

class StreamWindow {
 public:
  // `position` is that of the stream's next byte in the text.
  StreamWindow(ByteStream& stream, uint64_t position) : stream_(stream), position_(position) {}

  [[nodiscard]] std::string_view view() const { return {bytes_.data() + front_, size_ - front_}; }
  [[nodiscard]] uint64_t position() const { return position_; }  // position of view().front()
  [[nodiscard]] bool at_end() const { return at_end_; }          // nothing follows view()

  // Reads more; returns false at the end of the stream. Earlier views become invalid.
  bool grow();
  void drop(size_t bytes);

  // The number of readable bytes behind the view, whatever they hold: simdjson looks ahead that
  // far.
  static constexpr size_t kPadding = 64;

 private:
  static constexpr size_t kMostAtOnce = 1 << 20;

  ByteStream& stream_;
  uint64_t position_;
  std::string bytes_;
  size_t front_ = 0;
  size_t size_ = 0;
  size_t chunk_ = 1 << 14;  // bytes per read: few at first, for the many files that are small
  bool at_end_ = false;
};

}  // namespace shoal::data
