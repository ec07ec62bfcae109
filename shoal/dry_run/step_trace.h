// step_trace.h -- what a step did: its operations in order, the calls that each made, and whether that
// is what a program says.
//
//   StepTrace trace;
//   const auto world = comm::World::record(rank, ranks, &trace);
//   side.gradients_of(0, &trace);
//   side.update(&trace);
//   first_difference(plan, program, trace)          // nothing, or a sentence
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/comm/call.h"
#include "shoal/parallel/executor.h"
#include "shoal/plan/program.h"

namespace shoal::dry_run {

class StepTrace final : public comm::CallListener, public parallel::OperationListener {
 public:
  struct Done {
    plan::Operation operation;
    std::vector<comm::Call> calls = {};
  };

  void before(const plan::Operation& operation) override;
  void after(const plan::Operation& operation) override;
  void on_call(const comm::Call& call) override;

  [[nodiscard]] const std::vector<Done>& operations() const { return operations_; }
  // Returns the calls that were made between operations.
  [[nodiscard]] const std::vector<comm::Call>& others() const { return others_; }
  // Returns whether the last operation has begun and not ended: an error was thrown in it.
  [[nodiscard]] bool is_broken_off() const { return within_; }
  void clear();

 private:
  std::vector<Done> operations_;
  std::vector<comm::Call> others_;
  bool within_ = false;
};

// Returns the first difference between a program and a step, in words. Operations have to be the same
// in the same order, and each has to make the calls that it says: within one operation in any order.
// Groups of one rank do not count. A trace that is broken off is compared up to where it is.
std::optional<std::string> first_difference(const plan::RankPlan& plan,
                                            const plan::Program& program,
                                            const StepTrace& trace);

// What a step sends through a group of ranks.
struct GroupTraffic {
  std::string group;
  int ranks = 1;
  int64_t calls = 0;
  int64_t bytes = 0;

  bool operator==(const GroupTraffic&) const = default;
};

// These return one entry per group of more than one rank, by name: as a program says, and as a step
// did.
std::vector<GroupTraffic> traffic_of(const plan::RankPlan& plan, const plan::Program& program);
std::vector<GroupTraffic> traffic_of(const StepTrace& trace);

}  // namespace shoal::dry_run
