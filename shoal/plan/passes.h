// passes.h -- the passes that make a program. Each takes a list and gives one with something more in it; none looks at what
// another one is for. A strategy is a pass, or a choice of one.
#pragma once

#include <span>

#include "shoal/plan/program.h"

namespace shoal::plan {

// Lays out the units of each action of a schedule: forward from the first, backward from the last.
Program with_units(const RankPlan& plan, std::span<const Action> actions);

// Hands activations and their gradients from stage to stage, each rank in one order of all transfers. A receive is posted before
// the action in front of it, where that order allows; a send follows its action, and is awaited once something has come from the
// same neighbour that was made after the neighbour had it.
Program with_transfers(const RankPlan& plan, const Program& program);

// The same without anything in flight: for forward passes, which follow each other.
Program with_transfers_at_once(const RankPlan& plan, const Program& program);

// Lets blocks keep their input alone and run forward again before their backward pass, where the config asks for it.
Program with_recomputation(const RankPlan& plan, const Program& program);

// Gathers a group of units before its first use in an action, and releases it behind the last one, as its policy has it.
Program with_gathers(const RankPlan& plan, const Program& program);

// Moves gathers ahead: to where the group that is used so many groups before becomes whole.
Program with_prefetch(const RankPlan& plan, const Program& program);

// Opens whole gradients, reduces them behind the backward pass of their group, and awaits a reduction when the next one of the
// stage begins, or its group is opened again.
Program with_reductions(const RankPlan& plan, const Program& program);

// Counts targets in front, and adds up the loss behind.
Program with_loss(const Program& program);

// Takes the norm of all gradients, updates, and gathers what stays whole.
Program with_update(const RankPlan& plan, const Program& program);

// Drops what is done among several, where there is one.
Program without_lone_groups(const RankPlan& plan, const Program& program);

}  // namespace shoal::plan
