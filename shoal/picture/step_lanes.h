// step_lanes.h -- a step as lanes of blocks, a lane for each pipeline stage: what it computes, what
// it waits for, and what runs beside.
//
//   StepRecorder recorder;
//   const plan::StepTime time = plan::step_time(job.stages(), cluster, recorder.observer());
//   const std::vector<Lane> lanes = recorder.lanes(time);
//   lanes[0].blocks[0].ink;                               // Ink::kForward
//
// A block is a unit's forward pass, or a backward pass, and so on, with the waiting inside of it;
// where units are many, it is the pass of a micro-batch through all units of the stage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shoal/picture/ink.h"
#include "shoal/plan/step_time.h"

namespace shoal::picture {

constexpr size_t kMaxLanes = 16;  // that a picture has room for

// Waiting for other stages is in no block: it is a gap between them.
struct Block {
  Ink ink = Ink::kForward;  // kForward, kRecompute, kBackward, kUpdate or kOther
  int chunk = 0;
  int micro_batch = 0;
  int unit = 0;      // -1 for all units of the stage
  std::string name;  // "forward blocks.3 of micro-batch 0"
  double begin = 0;
  double end = 0;
  double lead = 0;  // seconds of waiting for weights with which it begins
  std::array<double, plan::kNumSpent> spent{};  // their sum is end - begin

  [[nodiscard]] double by(plan::Spent what) const { return spent[static_cast<size_t>(what)]; }
};

using Interval = std::pair<double, double>;

// Intervals in the order of time, of which none touches another: what is too near to be told apart
// has become one.
struct Beside {
  std::vector<Interval> runs;    // beside the computation
  std::vector<Interval> awaits;  // the computation waits for it
};

struct Lane {
  std::vector<Block> blocks;  // in the order of time, none overlaps another
  Beside gathers;
  Beside reductions;
  Beside sends;  // to other stages, which wait: awaits is empty
};

class StepRecorder {
 public:
  // Valid as long as this.
  plan::StepObserver observer();

  // Returns the lanes of the step by stage, with times from its begin to its end. `most` is the
  // number of blocks above which units become passes.
  [[nodiscard]] std::vector<Lane> lanes(const plan::StepTime& time, size_t most = 1000) const;

 private:
  void record(const plan::StepSpan& span);

  std::vector<Lane> lanes_;
};

}  // namespace shoal::picture
