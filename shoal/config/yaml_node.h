// yaml_node.h -- a YAML document as a plain tree: yaml_reader.h makes it from a text, and the
// readers of values (value.h, read.h) take it. It knows nothing of yaml-cpp.
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
    kRefused,  // already reported when the YAML was read: no further problem is raised
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
