#include "shoal/picture/candidates.h"

#include <algorithm>
#include <numeric>

#include "shoal/core/error.h"
#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/picture/chart.h"

namespace shoal::picture {
namespace {

std::vector<Segment> time_segments(const Candidate& candidate) {
  const double sum = std::accumulate(candidate.spent.begin(), candidate.spent.end(), 0.0);
  if (sum <= 0) return {{Ink::kWhole, candidate.seconds, format_seconds(candidate.seconds)}};
  std::vector<Segment> segments;
  for (int i = 0; i < plan::kNumSpent; ++i) {
    const auto what = static_cast<plan::Spent>(i);
    const double share = candidate.spent[static_cast<size_t>(i)] / sum;
    segments.push_back({ink_of(what), share * candidate.seconds,
                        format("{}: {}", plan::spent_name(what), format_share(share))});
  }
  return segments;
}

void time_legend(Markup& markup, const std::vector<Candidate>& candidates) {
  std::vector<LegendEntry> entries;
  for (int i = 0; i < plan::kNumSpent; ++i) {
    const auto what = static_cast<plan::Spent>(i);
    const bool there = std::any_of(
        candidates.begin(), candidates.end(),
        [&](const Candidate& candidate) { return candidate.spent[static_cast<size_t>(i)] > 0; });
    if (there)
      entries.push_back({std::string(class_of(ink_of(what))), std::string(plan::spent_name(what))});
  }
  if (!entries.empty()) legend(markup, entries);
}

std::string label_of_candidate(const Candidate& candidate) {
  return candidate.chosen ? "\u25b8\u00a0" + candidate.name : candidate.name;
}

}  // namespace

void draw_candidates(Markup& markup,
                     const std::vector<Candidate>& candidates,
                     std::optional<int64_t> capacity) {
  double longest = 0;
  double fullest = static_cast<double>(capacity.value_or(0));
  for (const Candidate& candidate : candidates) {
    SHOAL_CHECK(candidate.seconds >= 0 && candidate.memory >= 0, "{} takes {} s and {} bytes",
                candidate.name, candidate.seconds, candidate.memory);
    longest = std::max(longest, candidate.seconds);
    fullest = std::max(fullest, static_cast<double>(candidate.memory));
  }
  if (candidates.empty()) return;
  if (longest > 0) {
    const Scale scale = scale_of_seconds(1.04 * longest);
    markup.leaf("h3", {}, "Time of a step");
    time_legend(markup, candidates);
    for (const Candidate& candidate : candidates) {
      begin_row(markup, label_of_candidate(candidate));
      bar(markup, time_segments(candidate), scale);
      end_row(markup, candidate.seconds > 0 ? format_seconds(candidate.seconds) : "not known");
    }
    axis(markup, scale);
  }
  const Scale scale = scale_of_bytes(1.04 * fullest);
  markup.leaf("h3", {}, "Memory of the fullest rank");
  for (const Candidate& candidate : candidates) {
    const bool fits = !capacity || candidate.memory <= *capacity;
    begin_row(markup, label_of_candidate(candidate));
    const std::string bytes = format_bytes(candidate.memory);
    bar(markup, {{Ink::kWhole, static_cast<double>(candidate.memory), bytes}}, scale,
        capacity ? std::optional<double>(*capacity) : std::nullopt);
    end_row(markup, fits ? bytes : bytes + ", does not fit");
  }
  axis(markup, scale);
}

Candidate candidate_of(const PlanFacts& facts, std::string name) {
  Candidate candidate{.name = std::move(name), .memory = facts.fullest_stage().total()};
  if (facts.time) {
    candidate.seconds = facts.time->seconds;
    candidate.spent = facts.time->busiest().spent;
  }
  return candidate;
}

}  // namespace shoal::picture
