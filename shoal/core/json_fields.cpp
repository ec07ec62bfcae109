#include "shoal/core/json_fields.h"

#include "shoal/core/error.h"

namespace shoal::json {

Document::Document(std::string_view text, size_t max_depth) : text_(text) {
  // simdjson counts the document as a level too.
  simdjson::error_code error = parser_.allocate(text_.size(), max_depth + 1);
  if (error == simdjson::SUCCESS) error = parser_.parse(text_).get(root_);
  if (error != simdjson::SUCCESS)
    throw DataError(format("this is no JSON: {}", simdjson::error_message(error)));
}

Fields::Fields(element value, std::string path) : path_(std::move(path)) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) throw DataError(format("{} is not an object", path_));
  for (const auto& [key, field] : object) {
    if (!fields_.emplace(std::string(key), field).second)
      throw DataError(format("{} has the key '{}' twice", path_, key));
  }
}

std::optional<element> Fields::find(const std::string& key) const {
  const auto found = fields_.find(key);
  if (found == fields_.end() || found->second.is_null()) return std::nullopt;
  return found->second;
}

element Fields::require(const std::string& key) const {
  const auto found = find(key);
  if (!found) throw DataError(format("{} has no '{}'", path_, key));
  return *found;
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : fields_) keys.push_back(key);
  return keys;
}

std::string Fields::text(const std::string& key) const {
  std::string_view value;
  if (require(key).get(value) != simdjson::SUCCESS)
    throw DataError(format("{}.{} is not a text", path_, key));
  return std::string(value);
}

uint64_t Fields::number(const std::string& key) const {
  uint64_t value = 0;
  if (require(key).get(value) != simdjson::SUCCESS)
    throw DataError(format("{}.{} is not a whole number", path_, key));
  return value;
}

bool Fields::flag(const std::string& key, bool otherwise) const {
  const auto found = find(key);
  bool value = otherwise;
  if (found && found->get(value) != simdjson::SUCCESS)
    throw DataError(format("{}.{} is neither true nor false", path_, key));
  return value;
}

Fields Fields::object(const std::string& key) const { return {require(key), path_ + "." + key}; }

simdjson::dom::array Fields::list(const std::string& key) const {
  simdjson::dom::array value;
  if (require(key).get(value) != simdjson::SUCCESS)
    throw DataError(format("{}.{} is not a list", path_, key));
  return value;
}

void Fields::refuse_unless_empty(const std::string& key) const {
  const auto found = find(key);
  if (!found) return;
  std::string_view text;
  bool flag = false;
  double number = 0;
  const bool is_empty = (found->get(text) == simdjson::SUCCESS && text.empty()) ||
                        (found->get(flag) == simdjson::SUCCESS && !flag) ||
                        (found->get(number) == simdjson::SUCCESS && number == 0);
  if (!is_empty) throw DataError(format("{}.{} is used, which shoal does not support", path_, key));
}

}  // namespace shoal::json
