#include "shoal/score/validation.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/error.h"

namespace shoal::score {

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kFit:
      return "fit";
    case Evidence::kSeen:
      return "seen";
    case Evidence::kTest:
      return "test";
    case Evidence::kLeftOut:
      return "left out";
  }
  throw BugError("no such evidence");
}

double Score::mean() const {
  double sum = 0;
  for (const Compared& compared : rows) sum += std::abs(compared.error());
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

const Compared* Score::worst() const {
  const auto found =
      std::max_element(rows.begin(), rows.end(), [](const Compared& a, const Compared& b) {
        return std::abs(a.error()) < std::abs(b.error());
      });
  return found == rows.end() ? nullptr : &*found;
}

Score score_of(const Group& group, const std::vector<PublishedRow>& rows) {
  Score score;
  for (const PublishedRow& row : rows)
    if (group.holds(row)) score.rows.push_back({&row, group.predict(row)});
  return score;
}

}  // namespace shoal::score
