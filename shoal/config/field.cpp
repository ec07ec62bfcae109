#include "shoal/config/field.h"

#include <algorithm>

#include "shoal/config/text.h"

namespace shoal::config {
namespace {

std::string bounds_in_words(const Shape& shape) {
  if (shape.low && shape.high && *shape.low == *shape.high) return format(", only {}", *shape.low);
  if (shape.low && shape.high) return format(" from {} to {}", *shape.low, *shape.high);
  if (shape.low) return format(", at least {}", *shape.low);
  if (shape.high) return format(", at most {}", *shape.high);
  return "";
}

std::string kind_in_words(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::kBool:
      return "true or false";
    case Shape::Kind::kInteger:
      return "a whole number";
    case Shape::Kind::kNumber:
      return "a number";
    case Shape::Kind::kText:
      return std::string(shape.text ? shape.text->words : "text");
    case Shape::Kind::kDuration:
      return "a time such as 90s, 10m or 1h30m";
    case Shape::Kind::kBytes:
      return "a size such as 64 MiB";
    case Shape::Kind::kChoice:
      break;
  }
  std::string words = "one of ";
  for (size_t i = 0; i < shape.choices.size(); ++i) {
    words += (i == 0 ? "" : ", ") + std::string(shape.choices[i]);
  }
  return words;
}

}  // namespace

std::string in_words(const Shape& shape) {
  std::string words = shape.list ? "a list, each item " : "";
  words += kind_in_words(shape);
  const bool inserted = shape.kind == Shape::Kind::kDuration || shape.kind == Shape::Kind::kBytes;
  const std::string bounds = bounds_in_words(shape);
  words += inserted && bounds.starts_with(" ") ? "," + bounds : bounds;
  if (shape.automatic) words += ", or auto";
  return words;
}

std::string_view Entry::name() const {
  return std::string_view(key).substr(key.rfind('.') + 1);  // npos + 1 == 0
}

std::string_view Entry::parent() const {
  const size_t dot = key.rfind('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(key).substr(0, dot);
}

const Entry* find_entry(const Table& table, std::string_view key) {
  const auto found =
      std::find_if(table.begin(), table.end(), [key](const Entry& e) { return e.key == key; });
  return found == table.end() ? nullptr : &*found;
}

Refusal refuse_text(std::string_view value) {
  return {.what = format("{} is not allowed here", shown(value))};
}

}  // namespace shoal::config
