#include "shoal/generate/text_stream.h"

#include <algorithm>
#include <optional>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"
#include "shoal/data/tokenizer/unicode.h"

namespace shoal::generate {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Returns the beginning of the stop text that ends first.
std::optional<size_t> find_stop(std::string_view text, const std::vector<std::string>& stops) {
  std::optional<size_t> begin;
  size_t end = 0;
  for (const std::string& stop : stops) {
    const size_t at = text.find(stop);
    if (at == std::string_view::npos) continue;
    const size_t its_end = at + stop.size();
    if (begin && (its_end > end || (its_end == end && at > *begin))) continue;
    begin = at;
    end = its_end;
  }
  return begin;
}

// Returns how many bytes at the end of `text` could begin a stop text.
size_t possible_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    for (size_t length = std::min(stop.size() - 1, text.size()); length > longest; --length) {
      if (text.substr(text.size() - length) == std::string_view(stop).substr(0, length))
        longest = length;
    }
  }
  return longest;
}

// Returns how many bytes of an incomplete character belong together.
int broken_bytes(const char* at, const char* end) {
  int count = 1;
  while (at + count < end && data::is_cut_short(at, at + count + 1)) ++count;
  return count;
}

}  // namespace

TextStream::TextStream(std::vector<std::string> stops, std::function<void(std::string_view)> show)
    : stops_(std::move(stops)), show_(std::move(show)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) throw UsageError("a stop text is empty: everything would end at once");
    if (!json::is_utf8(stop)) throw UsageError("a stop text is not valid UTF-8");
  }
}

bool TextStream::add(std::string_view bytes) {
  held_ += bytes;
  if (const auto stop = find_stop(held_, stops_)) {
    show_until(*stop, /*nothing_follows=*/true);
    held_.clear();
    return true;
  }
  const size_t kept = possible_stop(held_, stops_);
  // A stop text is valid UTF-8, so a character before one is over.
  show_until(held_.size() - kept, /*nothing_follows=*/kept > 0);
  return false;
}

void TextStream::finish() { show_until(held_.size(), /*nothing_follows=*/true); }

void TextStream::show_until(size_t end, bool nothing_follows) {
  const char* at = held_.data();
  const char* const stop = held_.data() + end;
  std::string piece;
  while (at < stop) {
    const int bytes = data::read_rune(at, stop).bytes;
    const bool whole = bytes > 1 || static_cast<unsigned char>(*at) < 0x80U;
    if (whole) {
      piece.append(at, static_cast<size_t>(bytes));
      at += bytes;
      continue;
    }
    if (!nothing_follows && data::is_cut_short(at, stop)) break;
    piece += kReplacement;
    at += broken_bytes(at, stop);
  }
  held_.erase(0, static_cast<size_t>(at - held_.data()));
  if (piece.empty()) return;
  text_ += piece;
  if (show_) show_(piece);
}

}  // namespace shoal::generate
