// page.h -- a plan as one HTML page without scripts and without anything from elsewhere.
//
//   StepRecorder recorder;
//   const PlanFacts facts = facts_of(config, mesh, cluster, recorder.observer());
//   write_file_atomically("plan.html", page(facts, recorder, recompute_neighbours(facts)));
//
// The page is XML as well as HTML, and what it draws is bounded whatever the number of ranks, stages
// and operations: tests hold it below half a megabyte. Every name from a file is escaped.
#pragma once

#include <string>
#include <vector>

#include "shoal/picture/candidates.h"
#include "shoal/picture/plan_facts.h"
#include "shoal/picture/step_lanes.h"

namespace shoal::picture {

// `recorder` has observed the step of the facts; it is not read when they have no time.
std::string page(const PlanFacts& facts,
                 const StepRecorder& recorder,
                 const std::vector<Candidate>& candidates);

}  // namespace shoal::picture
