// markup.h -- writes HTML and SVG that is well-formed XML, whatever the texts are.
//
//   Markup markup;
//   markup.open("p", {{"class", "hint"}}).text("a < b").close();
//   std::move(markup).finish();            // <p class="hint">a &lt; b</p>
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::picture {

// Returns the text for use between tags and in quoted attributes: valid UTF-8 of characters that
// XML allows, U+FFFD in place of others.
std::string escaped(std::string_view text);

// Returns a coordinate with at most two decimals.
std::string number(double value);

class Markup {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  Markup& open(std::string_view tag, Attributes attributes = {});
  Markup& close();
  Markup& text(std::string_view text);
  // An element that holds text and nothing else; shapes without text close themselves.
  Markup& leaf(std::string_view tag, Attributes attributes = {}, std::string_view text = "");
  // Content of a <style>: it must not hold < or &.
  Markup& style(std::string_view css);

  // Returns what was written. Every element has been closed.
  [[nodiscard]] std::string finish() &&;

 private:
  void begin(std::string_view tag, Attributes attributes);

  std::string written_;
  std::vector<std::string> open_;
};

}  // namespace shoal::picture
