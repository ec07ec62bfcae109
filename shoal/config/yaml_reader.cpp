#include "shoal/config/yaml_reader.h"

#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "shoal/config/text.h"
#include "shoal/core/format.h"

namespace shoal::config {
namespace {

using Kind = YamlNode::Kind;

// Thrown through yaml-cpp when reading on makes no sense; the problem has been recorded.
struct Stop {};

// Builds the tree from yaml-cpp's events rather than from its nodes: events come one by one with
// their places, so limits hold before memory is spent, and keys that appear twice are still both
// there.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view source, Document& document) : source_(source), document_(document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    stop(mark, "goes on after its document has ended",
         "keep one document: delete --- or look at the indentation");
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(node_at(mark, Kind::kNull, "?", anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    YamlNode node = node_at(mark, Kind::kRefused, "?", YAML::NullAnchor);
    complain(node, "is an alias, which a config may not hold",
             "write the value out, or quote the *");
    add(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = node_at(mark, Kind::kText, tag, anchor);
    node.text = value;
    node.quoted = tag == "!";  // yaml-cpp's tag of every scalar that is not plain
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, node_at(mark, Kind::kList, tag, anchor));
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, node_at(mark, Kind::kMap, tag, anchor));
  }

  void OnMapEnd() override { close(); }

 private:
  YamlNode node_at(const YAML::Mark& mark,
                   Kind kind,
                   const std::string& tag,
                   YAML::anchor_t anchor) {
    YamlNode node{.kind = kind, .line = mark.line + 1, .column = mark.column + 1};
    if (++nodes_ > kMaxNodes) {
      stop(mark, format("holds more than {} values", kMaxNodes), "is this a config file?");
    }
    if (anchor != YAML::NullAnchor) {
      complain(node, "has an anchor, which a config may not hold", "delete the &name");
    }
    if (tag != "?" && tag != "!") {
      complain(node, format("has the tag {}, which a config may not hold", shown(tag)),
               "delete it");
    }
    return node;
  }

  void open(const YAML::Mark& mark, YamlNode node) {
    if (open_.size() >= kMaxDepth) {
      stop(mark, format("nests deeper than {} levels", kMaxDepth), "sections nest at most 2 deep");
    }
    if (expects_key()) {  // which is also what yaml-cpp makes of a bracket that is not closed
      stop(mark, "has a list or a section where a key belongs",
           "close the bracket, or write `key: value`");
    }
    open_.push_back(std::move(node));
  }

  void close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    add(std::move(node));
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().kind == Kind::kMap &&
           open_.back().keys.size() == open_.back().items.size();
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      document_.root = std::move(node);
    } else if (expects_key()) {
      add_key(std::move(node));
    } else {
      YamlNode& parent = open_.back();
      if (node.kind == Kind::kNull && parent.kind == Kind::kMap) {
        // yaml-cpp places a missing value at whatever comes after it.
        node.line = parent.keys.back().line;
        node.column = parent.keys.back().column;
      }
      parent.items.push_back(std::move(node));
    }
  }

  void add_key(YamlNode key) {
    std::vector<YamlNode>& keys = open_.back().keys;
    const auto same = std::find_if(keys.begin(), keys.end(), [&key](const YamlNode& other) {
      return other.kind == Kind::kText && other.text == key.text;
    });
    const bool twice = key.kind == Kind::kText && same != keys.end();
    const int first_line = twice ? same->line : 0;
    const bool merge = key.kind == Kind::kText && key.text == "<<" && !key.quoted;
    keys.push_back(key);  // before complaining, so that the path of the problem ends in it
    if (twice) {
      complain(key, format("is there twice, on lines {} and {}", first_line, key.line),
               "delete one of the lines");
    } else if (merge) {
      complain(key, "is a merge key, which a config may not hold", "write the values out");
    } else if (key.kind == Kind::kNull) {
      complain(key, "is a value without a key", "write `key: value`");
    }
    if (twice || merge || key.kind != Kind::kText) keys.back().kind = Kind::kRefused;
  }

  // The dotted key of what is being read.
  [[nodiscard]] std::string path() const {
    std::string path;
    for (const YamlNode& node : open_) {
      if (node.kind != Kind::kMap || node.keys.size() == node.items.size()) continue;
      path += (path.empty() ? "" : ".") + shown(node.keys.back().text);
    }
    return path;
  }

  void complain(const YamlNode& node, std::string what, std::string hint) {
    document_.problems.push_back(
        {path(), place_of(source_, node), std::move(what), std::move(hint)});
  }

  [[noreturn]] void stop(const YAML::Mark& mark, std::string what, std::string hint) {
    complain({.line = mark.line + 1, .column = mark.column + 1}, std::move(what), std::move(hint));
    throw Stop{};
  }

  std::string_view source_;
  Document& document_;
  std::vector<YamlNode> open_;  // the lists and maps around what is being read, outermost first
  size_t nodes_ = 0;
  int documents_ = 0;
};

YamlNode at_offset(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          .column = 1 + static_cast<int>(offset - line_start)};
}

Problem syntax_problem(const YAML::Exception& error, std::string_view source) {
  const YamlNode node{.line = std::max(error.mark.line, 0) + 1,
                      .column = std::max(error.mark.column, 0) + 1};
  return {
      .place = place_of(source, node),
      .what = "cannot be read as YAML: " + error.msg,
      .hint = "indent with spaces, close what is open, quote text with any of : # { } [ ] & * ! %"};
}

// yaml-cpp takes a quoted text that is still open when the file ends with a line end, and with it
// all keys since the quote. A comment as the last line makes that the error it is, and changes
// nothing else.
std::string with_comment_at_end(std::string_view text) {
  const bool line_is_open = !text.empty() && text.back() != '\n';
  return std::string(text) + (line_is_open ? "\n#" : "#");
}

}  // namespace

Document parse_yaml(std::string_view text, std::string_view source) {
  Document document;
  if (const std::optional<BadText> bad = find_bad_text(text)) {
    const YamlNode node = at_offset(text, bad->offset);
    document.problems.push_back(
        {.place = place_of(source, node), .what = bad->what, .hint = bad->hint});
    return document;
  }
  try {
    std::istringstream stream(with_comment_at_end(text));
    YAML::Parser parser(stream);
    TreeBuilder builder(source, document);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    return document;
  } catch (const Stop&) {  // NOLINT(bugprone-empty-catch): recorded before it was thrown
  } catch (const YAML::Exception& error) {
    document.problems.push_back(syntax_problem(error, source));
  } catch (const std::exception& error) {
    document.problems.push_back({.place = std::string(source),
                                 .what = format("cannot be read as YAML: {}", error.what()),
                                 .hint = "look for brackets or quotes that are not closed"});
  }
  document.root = {};
  return document;
}

}  // namespace shoal::config
