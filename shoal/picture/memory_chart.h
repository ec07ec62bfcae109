// memory_chart.h -- draws the memory of stages, and of the fullest rank during a step.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/picture/markup.h"
#include "shoal/picture/plan_facts.h"

namespace shoal::picture {

// A bar for each stage, of at most sixteen: its fullest rank by kind, with a line at the device's
// memory.
void draw_stage_memory(Markup& markup, const PlanFacts& facts);

// The memory of the fullest rank from operation to operation, with its peak marked and named.
void draw_memory_timeline(Markup& markup, const PlanFacts& facts);

// Operations [begin, end) of a program and the highest memory in them.
struct MemoryColumn {
  size_t begin = 0;
  size_t end = 0;
  plan::Memory highest;
};

// Returns a timeline in at most `most` columns. The highest operation of each column stands for it,
// so that no peak is lost.
std::vector<MemoryColumn> thinned(const std::vector<plan::Memory>& timeline, size_t most);

}  // namespace shoal::picture
