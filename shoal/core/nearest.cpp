#include "shoal/core/nearest.h"

#include <algorithm>
#include <string>

namespace shoal {
namespace {

std::string lower(std::string_view word) {
  std::string small(word);
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return small;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances of a's first i letters to every prefix of b; three rows are enough.
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
  // Beyond that nobody mistyped a known word, and the cost is quadratic.
  constexpr size_t kMaxWord = 100;
  if (word.size() > kMaxWord) return std::nullopt;
  std::optional<std::string_view> best;
  size_t best_distance = std::max<size_t>(word.size() / 3, 1) + 1;
  const std::string small = lower(word);
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(small, lower(candidate));  // TP is tp, not cp
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace shoal
