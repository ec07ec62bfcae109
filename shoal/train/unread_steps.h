// unread_steps.h -- the steps whose loss and gradient norm have not been read from the device.
//
//   unread.begin();
//   ...                                                    // a step
//   unread.end({.step = 7, .lr = lr}, loss, update);
//   for (const StepFigures& figures : unread.read()) ...
//
// Reading waits for the device, which stands still until the host has launched the next step. Where
// launches are asynchronous, several steps are therefore read together, and share their time evenly.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/core/quantities.h"
#include "shoal/optim/optimizer.h"
#include "shoal/parallel/step_times.h"

namespace shoal::train {

struct StepFigures {
  int64_t step = 0;    // finished steps, with this one
  int64_t tokens = 0;  // tokens of these steps, over all ranks
  double loss = 0;
  double norm = 0;
  bool skipped = false;  // the step did not move the weights
  double lr = 0;
  double dt = 0;
  parallel::StepTimes times;  // measured by the host
};

class UnreadSteps {
 public:
  // Begins the time of a step.
  void begin();
  // Ends the step. The rest of `figures` is filled by read().
  void end(StepFigures figures, const at::Tensor& loss, const optim::Update& update);

  // Returns the steps since the last call, and waits for the device.
  std::vector<StepFigures> read();

 private:
  struct Unread {
    StepFigures figures;
    at::Tensor loss;
    optim::Update update;
  };

  std::vector<Unread> steps_;
  Clock::time_point began_;
};

}  // namespace shoal::train
