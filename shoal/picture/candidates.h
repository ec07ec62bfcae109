// candidates.h -- draws layouts beside each other: their times by what they are spent on, and the
// memory of their fullest ranks.
//
//   std::vector<Candidate> candidates = {
//       {.name = "tp 8 x pp 4", .seconds = 3.2, .memory = 61'000'000'000, .chosen = true}};
//   draw_candidates(markup, candidates, /*capacity=*/80'000'000'000);
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/picture/markup.h"
#include "shoal/picture/plan_facts.h"
#include "shoal/plan/step_time.h"

namespace shoal::picture {

struct Candidate {
  std::string name = "";  // any text
  double seconds = 0;     // of a step; 0 if it is not known
  // Seconds of its busiest rank by what they are spent on; the bar is drawn as their shares of
  // `seconds`, or in one colour if all are 0.
  std::array<double, plan::kNumSpent> spent{};
  int64_t memory = 0;   // bytes of the fullest rank, with what is beside tensors
  bool chosen = false;  // the layout that the page is about
};

// Draws the candidates in their order, each with a bar of time, if any of them has one, and one of
// memory with a line at the capacity. Names those that do not fit.
void draw_candidates(Markup& markup,
                     const std::vector<Candidate>& candidates,
                     std::optional<int64_t> capacity);

// Returns the layout of these facts as a candidate.
Candidate candidate_of(const PlanFacts& facts, std::string name);

}  // namespace shoal::picture
