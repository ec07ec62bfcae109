#include "shoal/picture/html_page.h"

#include "shoal/picture/page_style.h"

namespace shoal::picture {

std::string html_page(const std::string& title, const std::function<void(Markup&)>& draw_body) {
  Markup markup;
  markup.open("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}}).open("head");
  markup.leaf("meta", {{"charset", "utf-8"}})
      .leaf("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}})
      .leaf("title", {}, title)
      .style(page_style())
      .close()
      .open("body");
  draw_body(markup);
  markup.close().close();
  return "<!DOCTYPE html>\n" + std::move(markup).finish() + "\n";
}

void begin_section(Markup& markup, const char* name, const char* hint) {
  markup.open("section").leaf("h2", {}, name);
  if (*hint != '\0') markup.leaf("p", {{"class", "hint"}}, hint);
}

void tile(Markup& markup, const std::string& value, const std::string& words, const char* kind) {
  markup.open("div", {{"class", kind}}).leaf("b", {}, value).leaf("span", {}, words).close();
}

Table::Table(Markup& markup, const std::string& caption, const std::vector<std::string>& heads)
    : markup_(markup) {
  markup.open("div", {{"class", "scroll"}})
      .open("table", {{"class", heads.empty() ? "facts" : "grid"}});
  if (!caption.empty()) markup.leaf("caption", {}, caption);
  if (heads.empty()) return;
  markup.open("tr");
  for (const std::string& head : heads) markup.leaf("th", {{"scope", "col"}}, head);
  markup.close();
}

void Table::row(const std::string& head, const std::vector<std::string>& cells) {
  markup_.open("tr").leaf("th", {{"scope", "row"}}, head);
  for (const std::string& cell : cells) markup_.leaf("td", {}, cell);
  markup_.close();
}

void Table::end() { markup_.close().close(); }

}  // namespace shoal::picture
