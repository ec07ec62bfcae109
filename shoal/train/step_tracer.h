// step_tracer.h -- records chosen steps of all ranks, one file for each.
//
//   StepTracer tracer(world, model.plan(), directory, {10, 11});
//   if (StepTimeline* timeline = tracer.begin(10)) ...       // the step, with it as a listener
//   tracer.end();                                            // nothing is listened to any more
//   tracer.write();
//
// A step that is not traced costs a lookup in a short list. begin() and write() are collective:
// all ranks trace the same steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/plan/rank_plan.h"
#include "shoal/train/rank_clocks.h"
#include "shoal/train/step_timeline.h"

namespace shoal::train {

class StepTracer {
 public:
  // `world` and `plan` outlive the tracer. Rank 0 writes into the directory.
  StepTracer(comm::World& world,
             const plan::RankPlan& plan,
             std::filesystem::path directory,
             std::vector<int64_t> steps);
  StepTracer(const StepTracer&) = delete;
  StepTracer& operator=(const StepTracer&) = delete;
  ~StepTracer();

  // Returns the timeline that records the step; nullptr when the step is not traced.
  StepTimeline* begin(int64_t step);
  void end();
  // Returns whether a step was recorded and is not written yet.
  [[nodiscard]] bool has_step() const { return timeline_ != nullptr; }
  // Writes the recorded step. A file that cannot be written is only logged; training continues.
  void write();

 private:
  // Returns the events of this rank; empty when it is one of those that are left out.
  [[nodiscard]] std::string events() const;

  comm::World& world_;
  const plan::RankPlan& plan_;
  const std::filesystem::path directory_;
  const std::vector<int64_t> steps_;
  int64_t step_ = 0;
  ClockOffset offset_;
  std::unique_ptr<StepTimeline> timeline_;
};

}  // namespace shoal::train
