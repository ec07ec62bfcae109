// elements.h -- reads markup back: it fails for what is not well-formed.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::tests {

struct Element {
  std::string tag;
  std::map<std::string, std::string> attributes;
  std::string text;  // directly inside, escaped as it was written

  [[nodiscard]] std::string operator[](const std::string& name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? "" : found->second;
  }
  [[nodiscard]] double number(const std::string& name) const {
    return std::stod(attributes.at(name));
  }
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Returns the elements in the order of their start tags. Throws what is wrong.
  std::vector<Element> read() {
    if (text_.substr(0, 2) == "<!") text_.remove_prefix(text_.find('>') + 1);
    while (!text_.empty()) {
      if (text_.front() != '<') {
        content();
      } else if (text_.substr(0, 2) == "</") {
        end_tag();
      } else {
        start_tag();
      }
    }
    if (!open_.empty()) fail("open at the end");
    return std::move(elements_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(why + " before: " + std::string(text_.substr(0, 60)));
  }
  std::string until(std::string_view stops) {
    const size_t end = text_.find_first_of(stops);
    if (end == std::string_view::npos) fail("no end");
    std::string taken(text_.substr(0, end));
    text_.remove_prefix(end);
    return taken;
  }
  void expect(std::string_view what) {
    if (text_.substr(0, what.size()) != what) fail("no " + std::string(what));
    text_.remove_prefix(what.size());
  }
  static void check(const std::string& text) {
    for (size_t at = 0; (at = text.find('&', at)) != std::string::npos; ++at) {
      bool known = false;
      for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
        known |= text.compare(at, std::string_view(entity).size(), entity) == 0;
      if (!known) throw std::runtime_error("a bare & in " + text);
    }
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
        throw std::runtime_error("a control character in " + text);
    }
  }
  void content() {
    const size_t end = text_.find('<');
    const std::string text(text_.substr(0, end));
    text_.remove_prefix(text.size());
    check(text);
    if (!open_.empty()) {
      elements_[open_.back()].text += text;
    } else if (text != "\n") {
      fail("text outside of all elements");
    }
  }
  void end_tag() {
    expect("</");
    const std::string tag = until(">");
    expect(">");
    if (open_.empty() || elements_[open_.back()].tag != tag) fail("</" + tag + "> closes nothing");
    open_.pop_back();
  }
  void start_tag() {
    expect("<");
    Element element{.tag = until(" />")};
    while (text_.front() == ' ') {
      expect(" ");
      const std::string name = until("=");
      expect("=\"");
      const std::string value = until("\"<");
      expect("\"");
      check(value);
      if (!element.attributes.emplace(name, value).second) fail("twice " + name);
    }
    elements_.push_back(std::move(element));
    if (text_.substr(0, 2) == "/>") {
      expect("/>");
    } else {
      expect(">");
      open_.push_back(elements_.size() - 1);
    }
  }

  std::string_view text_;
  std::vector<Element> elements_;
  std::vector<size_t> open_;
};

inline std::vector<Element> elements_of(std::string_view text) { return Reader(text).read(); }

inline std::vector<Element> with_tag(const std::vector<Element>& elements, std::string_view tag) {
  std::vector<Element> found;
  for (const Element& element : elements) {
    if (element.tag == tag) found.push_back(element);
  }
  return found;
}

}  // namespace shoal::tests
