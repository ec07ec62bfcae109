// text_stream.h -- turns the bytes of tokens into text to show: whole characters, up to a stop
// text.
//
//   TextStream stream({"\n\n"}, [](std::string_view piece) { std::cout << piece << std::flush; });
//   stop = stream.add(tokenizer.bytes_of(id));
//   stream.finish();
//
// Tokens end anywhere: inside a character, inside a stop text. Bytes that the next token could
// still change are held back, so the text does not depend on how its bytes were cut. It is always
// valid UTF-8: each maximal part of an incomplete character becomes one U+FFFD, as in Python and
// Rust. Use from one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::generate {

class TextStream {
 public:
  // `show` may be empty. Throws UsageError for a stop text that is empty or invalid UTF-8.
  TextStream(std::vector<std::string> stops, std::function<void(std::string_view)> show);

  // Returns whether a stop text is now complete; neither it nor what follows is part of the text.
  // When there are several, the one that ends first counts, and among those the longest.
  bool add(std::string_view bytes);

  // Ends the text: bytes that were held back become text.
  void finish();

  // Returns all text that was shown.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // Shows `held_` up to `end`, but keeps an incomplete character there unless nothing follows.
  void show_until(size_t end, bool nothing_follows);

  std::vector<std::string> stops_;
  std::function<void(std::string_view)> show_;
  std::string held_;
  std::string text_;
};

}  // namespace shoal::generate
