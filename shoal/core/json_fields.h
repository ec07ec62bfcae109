// json_fields.h -- untrusted JSON, read with a limit on its depth and without duplicate keys.
//
//   const json::Document document(text);
//   const json::Fields root(document.root(), "manifest");
//   root.number("version")                  // DataError: "manifest has no 'version'"
//
// This header includes simdjson: only .cpp files of modules that link simdjson may include it.
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

// A parsed text; its elements are valid as long as it lives.
class Document {
 public:
  // Throws DataError when the text is not JSON or is nested deeper than `max_depth`.
  explicit Document(std::string_view text, size_t max_depth = 16);

  [[nodiscard]] element root() const { return root_; }

 private:
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  element root_;
};

// The fields of an object. A missing key or a value of another type throws a DataError with its
// path.
class Fields {
 public:
  Fields(element value, std::string path);

  // Returns nothing when the key is absent or null.
  [[nodiscard]] std::optional<element> find(const std::string& key) const;
  [[nodiscard]] element require(const std::string& key) const;

  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::string text(const std::string& key) const;
  [[nodiscard]] uint64_t number(const std::string& key) const;  // an integer, 0 or more
  [[nodiscard]] bool flag(const std::string& key, bool otherwise) const;
  [[nodiscard]] Fields object(const std::string& key) const;
  [[nodiscard]] simdjson::dom::array list(const std::string& key) const;

  // Throws DataError unless the value is absent, null, false, 0 or empty: any other value would
  // change the meaning in a way that shoal does not support.
  void refuse_unless_empty(const std::string& key) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::map<std::string, element, std::less<>> fields_;
};

// Returns read(). A DataError that it throws gets the name of the file in front.
template <class Read>
auto named(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const DataError& error) {
    throw DataError(format("{}: {}", name, error.what()));
  }
}

}  // namespace shoal::json
