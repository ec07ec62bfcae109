// validation.h -- how far predictions are from published measurements, group by group.
//
//   const Score score = score_of({.name = "kor22", .holds = from("kor22", Metric::kStepTime),
//                                 .predict = [&](const PublishedRow& row) { return seconds(row); },
//                                 .to_beat = 0.0365, .held_by = "Calculon"},
//                                published.rows);
//   score.mean(), score.worst()->row->id
//
// A group says what its rows had to do with the rule that predicts them: only a test tests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/score/published_rows.h"

namespace shoal::score {

enum class Evidence : uint8_t {
  kFit,   // a figure of the rule was taken from some of these rows
  kSeen,  // none was, but the rule was written with these rows at hand
  kTest,  // the rule was finished before these rows were looked at
  // Each row is predicted with figures that were chosen on the others, from a grid that was drawn with all
  // of them at hand.
  kLeftOut,
};

std::string_view evidence_name(Evidence evidence);  // "fit", "seen", "test", "left out"

struct Group {
  std::string name;
  std::function<bool(const PublishedRow&)> holds;      // which rows are compared
  std::function<double(const PublishedRow&)> predict;  // seconds or bytes, as the row's metric
  std::optional<double> to_beat = std::nullopt;        // mean error of another tool on these rows
  std::string held_by{};                               // that tool
  Evidence evidence = Evidence::kTest;
};

// Rows of a source with one of these metrics.
template <class... Metrics>
std::function<bool(const PublishedRow&)> from(std::string source, Metrics... metrics) {
  return [source = std::move(source), metrics...](const PublishedRow& row) {
    return row.source() == source && ((row.metric == metrics) || ...);
  };
}

struct Compared {
  const PublishedRow* row = nullptr;
  double predicted = 0;

  // Returns how much too high the prediction is, as a share of the measurement.
  [[nodiscard]] double error() const { return predicted / row->value - 1; }
};

struct Score {
  std::vector<Compared> rows;

  [[nodiscard]] double mean() const;            // of absolute errors; 0 without rows
  [[nodiscard]] const Compared* worst() const;  // null without rows
};

// Compares all rows that the group holds. The rows have to live as long as the score.
Score score_of(const Group& group, const std::vector<PublishedRow>& rows);

}  // namespace shoal::score
