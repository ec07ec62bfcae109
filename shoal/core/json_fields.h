// json_fields.h -- JSON that nobody vouches for, read with a limit on its depth and no key twice.
//
//   const json::Document document(text);
//   const json::Fields root(document.root(), "manifest");
//   root.number("version")                  // DataError: "manifest has no 'version'"
//
// It includes simdjson: for .cpp files only, of modules that link simdjson themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "shoal/core/error.h"

namespace shoal::json {

using simdjson::dom::element;

// A parsed text; its elements live as long as it does.
class Document {
 public:
  // DataError when it is no JSON, or nested deeper.
  explicit Document(std::string_view text, size_t max_depth = 16);

  [[nodiscard]] element root() const { return root_; }

 private:
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  element root_;
};

// The keys of an object. What is asked for by a wrong type is refused with its path.
class Fields {
 public:
  Fields(element value, std::string path);

  // Nothing when the key is absent or null.
  [[nodiscard]] std::optional<element> find(const std::string& key) const;
  [[nodiscard]] element require(const std::string& key) const;

  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::string text(const std::string& key) const;
  [[nodiscard]] uint64_t number(const std::string& key) const;  // whole, 0 or more
  [[nodiscard]] bool flag(const std::string& key, bool otherwise) const;
  [[nodiscard]] Fields object(const std::string& key) const;
  [[nodiscard]] simdjson::dom::array list(const std::string& key) const;

  // What is neither absent, null, false, 0 nor empty would change the meaning in a way that shoal does
  // not know.
  void refuse_unless_empty(const std::string& key) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::map<std::string, element, std::less<>> fields_;
};

// What `read` gives. A DataError of it begins with the name of the file it was about.
template <class Read>
auto named(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const DataError& error) {
    throw DataError(format("{}: {}", name, error.what()));
  }
}

}  // namespace shoal::json
