// yaml_node.h -- a YAML document as a plain tree: what yaml_reader.h makes of a text, and what the
// readers of values (value.h, read.h) take. Knows nothing of yaml-cpp.
#pragma once

#include <string>
#include <vector>

namespace shoal::config {

struct YamlNode {
  enum class Kind {
    kNull,
    kText,
    kList,
    kMap,
    kRefused,  // was reported when the YAML was read: say nothing more about it
  };

  Kind kind = Kind::kNull;
  std::string text{};   // kText
  bool quoted = false;  // kText: in quotes or a block, so never a number, true, false or auto
  std::vector<YamlNode> keys{};   // kMap: kText or kRefused, one for each item
  std::vector<YamlNode> items{};  // kList, kMap
  int line = 1;
  int column = 1;
};

}  // namespace shoal::config
