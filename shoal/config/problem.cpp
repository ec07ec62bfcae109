#include "shoal/config/problem.h"

#include <algorithm>

#include "shoal/core/format.h"

namespace shoal::config {
namespace {

constexpr size_t kMaxReported = 50;
constexpr size_t kMaxKeyWidth = 32;

std::string key_shown(const Problem& problem) {
  return problem.where.empty() ? "(file)" : problem.where;
}

}  // namespace

std::string place_of(std::string_view source, const YamlNode& node) {
  if (source == kFromSet) return std::string(kFromSet);
  return format("{}:{}:{}", source, node.line, node.column);
}

std::string report(std::string_view title, const std::vector<Problem>& problems) {
  std::string text =
      format("{} ({} problem{})", title, problems.size(), problems.size() == 1 ? "" : "s");
  size_t width = 0;
  for (const Problem& problem : problems) {
    width = std::min(std::max(width, key_shown(problem).size()), kMaxKeyWidth);
  }
  const size_t count = std::min(problems.size(), kMaxReported);
  for (size_t i = 0; i < count; ++i) {
    const Problem& problem = problems[i];
    text += format("\n  {:<{}}   {}", key_shown(problem), width, problem.what);
    if (!problem.place.empty()) text += format(" ({})", problem.place);
    if (!problem.hint.empty()) text += format("\n  {:<{}}   -> {}", "", width, problem.hint);
  }
  if (count < problems.size()) text += format("\n  and {} more", problems.size() - count);
  return text;
}

}  // namespace shoal::config
