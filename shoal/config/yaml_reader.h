// yaml_reader.h -- parses untrusted YAML into a tree of nodes.
//
// The YAML that is accepted is what a person needs to write a config: maps, lists, scalars,
// comments. Refused, each with its line: anchors, aliases, merge keys, tags, second documents,
// duplicate keys, keys that are not words, deep nesting, text that is not UTF-8. Nothing throws;
// the tree of a text with a syntax error is empty. The cost is linear in the text except for
// looking up duplicate keys, which the limit on the number of nodes bounds.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/config/yaml_node.h"

namespace shoal::config {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNodes = 10'000;

struct Document {
  YamlNode root{};
  std::vector<Problem> problems{};
};

// Parses a text. `source` is its name in problems: a file's path, or kFromSet.
Document parse_yaml(std::string_view text, std::string_view source);

}  // namespace shoal::config
