// cmd_plan_picture.h -- the pictures of `shoal plan CONFIG`: lines on the terminal, and --page.
#pragma once

#include <string>

#include "shoal/picture/plan_facts.h"
#include "shoal/picture/step_lanes.h"

namespace shoal::app {

// Returns the plan as a few lines, with block characters where the terminal has them.
std::string lines_of(const picture::PlanFacts& facts);

// Writes the page of a plan whose step the recorder has observed. Returns its size in bytes.
size_t write_page(const std::string& path,
                  const picture::PlanFacts& facts,
                  const picture::StepRecorder& recorder);

}  // namespace shoal::app
