// short_form.h -- a plan as a few lines of a terminal: a bar of memory for each stage, and one of
// the step's time.
//
//   std::cout << short_form(facts, {.blocks = is_utf8});
#pragma once

#include <string>

#include "shoal/picture/plan_facts.h"

namespace shoal::picture {

constexpr size_t kShortFormColumns = 100;

struct ShortFormOptions {
  bool blocks = false;  // block characters, which are UTF-8; ASCII without
};

// Returns lines of at most kShortFormColumns characters. Of more than eight stages it shows the
// first, the fullest and the last.
std::string short_form(const PlanFacts& facts, const ShortFormOptions& options);

}  // namespace shoal::picture
