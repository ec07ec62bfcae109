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
// So there is no deadlock, no message that reaches the wrong receive, no sum that is missing or
// taken twice. All programs of one plan that pass compute the same, up to the order of additions.
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

// Checks lifetime and completeness of one rank's training step. Stops at the first problem of each
// kind.
std::vector<config::Problem> check_rank(const CheckedRank& rank);

// Checks that the transfers of a pipeline meet; `pipeline` has its ranks in order.
std::vector<config::Problem> check_transfers(std::span<const CheckedRank> pipeline);

// Checks that muon's rounds bring every matrix together whole, from and back to the parts that the
// rank holds.
std::vector<config::Problem> check_matrices(const RankPlan& plan);

// Checks that two ranks of one stage, which differ along data-parallel and tensor-parallel axes
// alone, make the same calls.
std::vector<config::Problem> check_same_calls(const CheckedRank& first, const CheckedRank& other);

// Checks all of it for a whole job; ranks with the same program are checked once. `config` has been
// checked for so many ranks, and model.vocab_size is set.
std::vector<config::Problem> check_job(const config::RunConfig& config, int ranks);

// Commands call this: throws BugError with all problems, because shoal itself makes the programs.
void require_proven(const config::RunConfig& config, int ranks);

}  // namespace shoal::plan
