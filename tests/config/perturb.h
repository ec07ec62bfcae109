// perturb.h -- gives every field of a config another legal value than it has, whatever fields there
// are.
#pragma once

#include <string>
#include <vector>

#include "shoal/config/field.h"
#include "shoal/core/format.h"

namespace shoal::tests {

// Values that a field of this shape may have, as written in YAML.
inline std::vector<std::string> values_of(const config::Shape& shape) {
  using Kind = config::Shape::Kind;
  std::vector<std::string> values(shape.choices.begin(), shape.choices.end());
  switch (shape.kind) {
    case Kind::kBool:
      values = {"true", "false"};
      break;
    case Kind::kInteger:
      values = {"2", "3"};
      break;
    case Kind::kNumber:
      values = {"0.25", "1.5"};
      break;
    case Kind::kText:
      values = {"other"};
      break;
    case Kind::kDuration:
      values = {"7s", "11m"};
      break;
    case Kind::kBytes:
      values = {"3 MiB", "5 MiB"};
      break;
    case Kind::kChoice:
      break;
  }
  for (const auto& bound : {shape.low, shape.high}) {
    if (bound) values.push_back(*bound);
  }
  return values;
}

// Fields whose only legal value is the one they have keep it.
inline void perturb(const config::Table& table) {
  for (const config::Entry& entry : table) {
    if (!entry.field) continue;
    const std::string before = entry.field->write();
    for (const std::string& value : values_of(entry.field->shape)) {
      config::YamlNode node{.kind = config::YamlNode::Kind::kText, .text = value};
      if (entry.field->shape.list)
        node = {.kind = config::YamlNode::Kind::kList, .items = {node, node}};
      if (!entry.field->read(node) && entry.field->write() != before) break;
    }
  }
}

}  // namespace shoal::tests
