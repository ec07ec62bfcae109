// The JSON Schema of describe.h, apart because it is the only user of nlohmann-json here.
#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "shoal/config/describe.h"
#include "shoal/config/yaml_reader.h"

namespace shoal::config {
namespace {

using Json = nlohmann::ordered_json;
using ShapeKind = Shape::Kind;

constexpr const char* kDialect = "https://json-schema.org/draft/2020-12/schema";

// Times and sizes are text to JSON; their bounds cannot be told in a pattern and stay in the words.
constexpr const char* kDurationPattern =
    "^(?=.)([0-9]+(\\.[0-9]+)?d)?([0-9]+(\\.[0-9]+)?h)?([0-9]+(\\.[0-9]+)?m)?"
    "([0-9]+(\\.[0-9]+)?s)?([0-9]+(\\.[0-9]+)?ms)?$";
constexpr const char* kBytesPattern = "^[0-9]+(\\.[0-9]+)? *(B|[kMGTP]B|[KMGTP]iB)?$";

Json to_json(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kList) {
    Json list = Json::array();
    for (const YamlNode& item : node.items) list.push_back(to_json(item));
    return list;
  }
  Json value = Json::parse(node.text, nullptr, /*allow_exceptions=*/false);
  return node.quoted || value.is_discarded() ? Json(node.text) : value;
}

// A value as write_value wrote it, as JSON.
Json to_json(const std::string& yaml) { return to_json(parse_yaml(yaml, "").root); }

Json choices_schema(const Shape& shape) {
  Json names = Json::array();
  for (const std::string_view name : shape.choices) names.push_back(std::string(name));
  return {{"enum", names}};
}

Json number_schema(const char* type, const Shape& shape) {
  Json schema = {{"type", type}};
  if (shape.low) schema["minimum"] = to_json(*shape.low);
  if (shape.high) schema["maximum"] = to_json(*shape.high);
  return schema;
}

Json text_schema(const Shape& shape) {
  Json schema = {{"type", "string"}};
  if (shape.text) schema["pattern"] = std::string(shape.text->pattern);
  return schema;
}

Json scalar_schema(const Shape& shape) {
  switch (shape.kind) {
    case ShapeKind::kBool:
      return {{"type", "boolean"}};
    case ShapeKind::kInteger:
      return number_schema("integer", shape);
    case ShapeKind::kNumber:
      return number_schema("number", shape);
    case ShapeKind::kText:
      return text_schema(shape);
    case ShapeKind::kChoice:
      return choices_schema(shape);
    case ShapeKind::kDuration:
      return {{"type", "string"}, {"pattern", kDurationPattern}};
    case ShapeKind::kBytes:
      break;
  }
  return {{"type", Json::array({"string", "integer"})}, {"pattern", kBytesPattern}, {"minimum", 0}};
}

Json field_schema(const Field& field) {
  Json schema = scalar_schema(field.shape);
  if (field.shape.list) return {{"type", "array"}, {"items", schema}};
  if (field.shape.automatic) return {{"anyOf", Json::array({{{"const", "auto"}}, schema})}};
  return schema;
}

// A section that is there but empty, all its keys commented out, is null to YAML.
Json section_schema(const std::string& help) {
  return {{"description", help},
          {"type", Json::array({"object", "null"})},
          {"additionalProperties", false},
          {"properties", Json::object()}};
}

// The properties that `section` holds, below the schema of the whole.
Json& properties_of(Json& root, std::string_view section) {
  Json* at = &root["properties"];
  while (!section.empty()) {
    const size_t end = std::min(section.find('.'), section.size());
    at = &(*at)[std::string(section.substr(0, end))]["properties"];
    section.remove_prefix(std::min(end + 1, section.size()));
  }
  return *at;
}

}  // namespace

std::string to_json_schema(const Table& table) {
  Json root = {{"$schema", kDialect}, {"title", "shoal config"}};
  root.update(section_schema("One run of shoal. Generated: shoal config schema."));
  for (const Entry& entry : table) {
    Json schema = section_schema(entry.help);
    if (entry.field) {
      schema = {{"description", format("{} ({})", entry.help, in_words(entry.field->shape))}};
      schema.update(field_schema(*entry.field));
      schema["default"] = to_json(entry.field->write());
    }
    properties_of(root, entry.parent())[std::string(entry.name())] = std::move(schema);
  }
  return root.dump(2) + "\n";
}

}  // namespace shoal::config
