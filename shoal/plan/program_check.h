// program_check.h -- proves a program without running it.
//
//   for (const config::Problem& problem : check_job(config, /*ranks=*/16'384)) std::cout << problem.what;
//
// Three things are proven, for any number of ranks:
//
//   lifetime      Nothing is read before it is there or after it is gone; nothing that is on its way is written; what is there at
//                 the end of a step is what the next one begins with.
//   completeness  Every micro-batch goes once through every unit, forward and backward. Each gradient is a sum of terms: it is summed
//                 once over each axis whose ranks hold different ones, before the update; every group of units is updated once.
//   meeting       Every transfer meets its counterpart, when sends are buffered and messages have tags (gloo, MPI), and when
//                 transfers of a rank run in order, sends wait for their receives, and messages have no tags (NCCL). Ranks of a
//                 group make the same calls of the same sizes in the same order.
//
// So there is no deadlock, no message for another, no sum that is missing or taken twice. A program that passes computes what every
// other one of the same plan does that passes, up to the order of additions.
#pragma once

#include <span>
#include <vector>

#include "shoal/config/problem.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

// The program of one rank, and its plan.
struct CheckedRank {
  const RankPlan* plan = nullptr;
  const Program* program = nullptr;
};

// Lifetime and completeness of one rank's training step. Stops at the first problem of each kind.
std::vector<config::Problem> check_rank(const CheckedRank& rank);

// That transfers of the ranks of a pipeline meet, by their place in it.
std::vector<config::Problem> check_transfers(std::span<const CheckedRank> pipeline);

// That ranks which differ along data-parallel and tensor-parallel axes alone do the same: `other` and `first` are of one stage.
std::vector<config::Problem> check_same_calls(const CheckedRank& first, const CheckedRank& other);

// All of it, for a whole job: ranks that do the same are looked at once. `config` is checked for so many ranks, and
// model.vocab_size is given.
std::vector<config::Problem> check_job(const config::RunConfig& config, int ranks);

// What commands call: BugError with all problems, because programs are made here.
void require_proven(const config::RunConfig& config, int ranks);

}  // namespace shoal::plan
