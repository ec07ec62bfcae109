#include "shoal/picture/markup.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/core/any_bytes.h"
#include "shoal/core/error.h"
#include "shoal/core/format.h"

namespace shoal::picture {
namespace {

constexpr std::string_view kUnknown = "\xef\xbf\xbd";       // U+FFFD
constexpr std::string_view kNoCharacter = "\xef\xbf\xbe";   // U+FFFE
constexpr std::string_view kNoCharacter2 = "\xef\xbf\xbf";  // U+FFFF

// Tags without content; all others of HTML need an end tag to be understood as HTML.
bool closes_itself(std::string_view tag) {
  constexpr std::array<std::string_view, 4> kTags = {"rect", "path", "line", "meta"};
  return std::find(kTags.begin(), kTags.end(), tag) != kTags.end();
}

std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string result;
  for (size_t i = 0; i < valid.size(); ++i) {
    const std::string_view three = std::string_view(valid).substr(i, 3);
    const auto byte = static_cast<unsigned char>(valid[i]);
    const std::string_view entity = entity_of(valid[i]);
    if (!entity.empty()) {
      result += entity;
    } else if (byte < 0x20 && byte != '\t' && byte != '\n') {
      result += kUnknown;
    } else if (three == kNoCharacter || three == kNoCharacter2) {
      result += kUnknown;
      i += 2;
    } else {
      result += valid[i];
    }
  }
  return result;
}

std::string number(double value) {
  SHOAL_CHECK(std::isfinite(value), "a coordinate of {}", value);
  std::string text = format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

void Markup::begin(std::string_view tag, Attributes attributes) {
  written_ += '<';
  written_ += tag;
  for (const auto& [name, value] : attributes)
    written_ += format(" {}=\"{}\"", name, escaped(value));
}

Markup& Markup::open(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  written_ += '>';
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::close() {
  SHOAL_CHECK(!open_.empty(), "nothing is open");
  written_ += format("</{}>", open_.back());
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  written_ += escaped(text);
  return *this;
}

Markup& Markup::leaf(std::string_view tag, Attributes attributes, std::string_view text) {
  begin(tag, attributes);
  if (text.empty() && closes_itself(tag)) {
    written_ += "/>";
  } else {
    written_ += format(">{}</{}>", escaped(text), tag);
  }
  return *this;
}

Markup& Markup::style(std::string_view css) {
  SHOAL_CHECK(css.find_first_of("<&") == std::string_view::npos, "a style with markup in it");
  written_ += format("<style>{}</style>", css);
  return *this;
}

std::string Markup::finish() && {
  SHOAL_CHECK(open_.empty(), "<{}> is open", open_.back());
  return std::move(written_);
}

}  // namespace shoal::picture
