#include "shoal/cluster/slurm_node.h"

#include <algorithm>
#include <cctype>

#include "shoal/cluster/subprocess.h"

namespace shoal::cluster {

std::string address_of_slurm_node(const std::string& node) {
  const bool plain = std::all_of(node.begin(), node.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (node.empty() || node.front() == '-' || !plain) return "";
  const std::string text =
      output_of({"scontrol", "--oneliner", "show", "node", node}, std::chrono::seconds(10));
  const std::string label = " NodeAddr=";
  const size_t start = text.find(label);
  if (start == std::string::npos) return "";
  const size_t first = start + label.size();
  return text.substr(first, text.find_first_of(" \n", first) - first);
}

}  // namespace shoal::cluster
