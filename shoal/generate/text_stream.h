// text_stream.h -- the bytes of tokens as text that can be shown: whole characters, up to a stop text.
//
//   TextStream stream({"\n\n"}, [](std::string_view piece) { std::cout << piece << std::flush; });
//   stop = stream.add(tokenizer.bytes_of(id));
//   stream.finish();
//
// Tokens end anywhere: inside a character, inside a stop text. What the next token could still change is
// held back, so the text is the same however its bytes were cut. It is always valid UTF-8: each maximal
// part of a character that is not whole becomes one U+FFFD, as Python and Rust do it. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::generate {

class TextStream {
 public:
  // `show` may be empty. UsageError for a stop text that is empty or no UTF-8.
  TextStream(std::vector<std::string> stops, std::function<void(std::string_view)> show);

  // Whether a stop text is now complete; it and what follows are not part of the text. Of several, the
  // one that ends first counts, and of those the longest.
  bool add(std::string_view bytes);

  // No more will come: what was held back is text.
  void finish();

  // All that was shown.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // Shows `held_` up to `end`, but not the beginning of a character there unless it is known to go no
  // further.
  void show_until(size_t end, bool nothing_follows);

  std::vector<std::string> stops_;
  std::function<void(std::string_view)> show_;
  std::string held_;
  std::string text_;
};

}  // namespace shoal::generate
