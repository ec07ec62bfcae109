// passes.h -- the passes that build a program. Each takes a list of operations and returns one with
// more in it, without knowing what the other passes are for. A strategy is a pass, or an option of
// one.
#pragma once

#include <span>

#include "shoal/plan/program.h"
#include "shoal/plan/transfer_order.h"

namespace shoal::plan {

// Lists the units of each action of a schedule: forward from the first, backward from the last.
Program with_units(const RankPlan& plan, std::span<const Action> actions);

// Adds sends and receives of activations and their gradients between stages, on each rank in one
// global order of transfers. A receive is posted one action ahead, where that order allows; a send
// follows its action, and is awaited once something has arrived that its receiver computed after
// having received it.
Program with_transfers(const RankPlan& plan, const TransferOrder& order, const Program& program);

// Adds transfers that are awaited at once: for forward-only programs.
Program with_transfers_at_once(const RankPlan& plan, const Program& program);

// Adds activation checkpointing: blocks keep only their input and run forward again before their
// backward pass, where the config asks for it.
Program with_recomputation(const RankPlan& plan, const Program& program);

// Gathers a group of units before its first use in an action, and releases it after the last one,
// as its ShardingPolicy says.
Program with_gathers(const RankPlan& plan, const Program& program);

// Moves each gather ahead, to the first use of the group that is parallel.prefetch groups earlier
// in the action.
Program with_prefetch(const RankPlan& plan, const Program& program);

// Opens whole gradients, reduces them after the backward pass of their group, and awaits a
// reduction when the next one of the stage begins, or when its group is opened again.
Program with_reductions(const RankPlan& plan, const Program& program);

// Counts the targets at the beginning, and sums the loss at the end.
Program with_loss(const Program& program);

// Adds the norm of all gradients, the optimizer's update, and the gathers of weights that stay
// whole.
Program with_update(const RankPlan& plan, const Program& program);

// Drops operations among several ranks where the group has one rank, and those without elements.
Program without_lone_groups(const RankPlan& plan, const Program& program);

}  // namespace shoal::plan
