#include "shoal/config/text.h"

#include <algorithm>

#include "shoal/core/any_bytes.h"
#include "shoal/core/format.h"

namespace shoal::config {
namespace {

constexpr size_t kMaxShown = 60;
constexpr size_t kColumns = 100;

unsigned char byte_at(std::string_view text, size_t index) {
  return static_cast<unsigned char>(text[index]);
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_-+./:%").find(c) != std::string_view::npos;
}

// Removes the first character from `text`, or a byte that begins none, and returns it as a terminal
// may get it.
std::string take_printable(std::string_view& text) {
  const size_t length = character_size(text);
  const std::string_view piece = text.substr(0, std::max<size_t>(length, 1));
  text.remove_prefix(piece.size());
  if (length > 0 && !steers_terminal(piece)) return std::string(piece);
  std::string escaped;
  for (const char c : piece) escaped += format("\\x{:02x}", static_cast<unsigned char>(c));
  return escaped;
}

}  // namespace

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::optional<BadText> find_bad_text(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return BadText{0, "is UTF-16, but a config is UTF-8", "save it as UTF-8"};
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    return BadText{0, "starts with a byte order mark", "save it as UTF-8 without one"};
  }
  size_t offset = 0;
  while (offset < text.size()) {
    const char c = text[offset];
    if (is_control(c) && c != '\t' && c != '\n' && c != '\r') {
      return BadText{offset, format("holds the control character 0x{:02x}", byte_at(text, offset)),
                     "delete it; a config is text"};
    }
    const size_t length = character_size(text.substr(offset));
    if (length == 0) {
      return BadText{
          offset, format("is not UTF-8: byte 0x{:02x} begins no character", byte_at(text, offset)),
          "save it as UTF-8"};
    }
    offset += length;
  }
  return std::nullopt;
}

std::string shown(std::string_view text) {
  const bool simple = !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
  if (simple && text.size() <= kMaxShown) return std::string(text);
  std::string quoted = "\"";
  const size_t size = text.size();
  while (!text.empty() && size - text.size() < kMaxShown) {
    if (text[0] == '"' || text[0] == '\\') quoted += '\\';
    quoted += take_printable(text);
  }
  return quoted + (text.empty() ? "\"" : "...\"");
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] == '\n') {
      out += '\n';
      text.remove_prefix(1);
    } else {
      out += take_printable(text);
    }
  }
  return out;
}

std::string wrapped(std::string_view text, std::string_view indent) {
  const size_t room = kColumns - std::min(indent.size(), kColumns / 2);
  std::string lines;
  while (text.size() > room) {
    const size_t space = std::min(text.rfind(' ', room), text.find(' ', room));
    if (space == std::string_view::npos) break;
    lines += format("{}{}\n", indent, text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  return lines + format("{}{}\n", indent, text);
}

}  // namespace shoal::config
