#include "shoal/train/unread_steps.h"

#include <utility>

#include <ATen/ATen.h>

#include "shoal/core/activity.h"

namespace shoal::train {

void UnreadSteps::begin() {
  if (steps_.empty()) began_ = Clock::now();
}

void UnreadSteps::end(StepFigures figures, const at::Tensor& loss, const optim::Update& update) {
  steps_.push_back({.figures = std::move(figures), .loss = loss, .update = update});
}

std::vector<StepFigures> UnreadSteps::read() {
  if (steps_.empty()) return {};
  std::vector<at::Tensor> scalars;
  for (const Unread& each : steps_) {
    for (const at::Tensor& scalar : {each.loss, each.update.gradient_norm, each.update.skipped})
      scalars.push_back(scalar.reshape({}).to(at::kDouble));
  }
  const Activity doing("reads the figures of steps from the device", Pace::kOthers);
  const at::Tensor all = at::stack(scalars).cpu();
  const double dt = seconds_since(began_) / static_cast<double>(steps_.size());
  std::vector<StepFigures> read;
  const double* next = all.const_data_ptr<double>();
  for (Unread& each : std::exchange(steps_, {})) {
    StepFigures& figures = each.figures;
    figures.loss = *next++;
    figures.norm = *next++;
    figures.skipped = *next++ > 0;
    figures.dt = dt;
    read.push_back(std::move(figures));
  }
  return read;
}

}  // namespace shoal::train
