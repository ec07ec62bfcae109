// step_timeline.h -- when this rank did what in one step: its operations, its calls, and its waiting for them.
//
//   StepTimeline timeline(model.plan(), device, /*most=*/10'000);
//   timeline.data_is_here();
//   model.forward_backward(passes, {.lr = lr, .listener = &timeline});
//   model.update(&timeline);
//   timeline.end();
//   timeline.slices(lanes, since)
//
// It also listens to the calls of the world's groups. Nothing is waited for or formatted before slices(); on a device
// times are those of its streams. One step, one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/comm/call.h"
#include "shoal/comm/moment.h"
#include "shoal/metrics/step_trace.h"
#include "shoal/parallel/executor.h"
#include "shoal/plan/program.h"

namespace shoal::train {

class StepTimeline final : public parallel::OperationListener, public comm::CallListener {
 public:
  // Begins the step. `plan` outlives this. Operations, waits and calls beyond `most` are counted.
  StepTimeline(const plan::RankPlan& plan, c10::Device device, size_t most);

  void before(const plan::Operation& operation) override;
  void after(const plan::Operation& operation) override;
  void on_call(const comm::Call& call) override;
  void before_wait(const comm::Call& call) override;
  void after_wait(const comm::Call& call, comm::Moment ended) override;

  // The batch of the step has been read.
  void data_is_here() { data_end_ = now(); }
  void end() { end_ = now(); }

  // Returns the slices of the ended step in nanoseconds from `origin`, and the lanes that they are in. Waits for the
  // device.
  [[nodiscard]] std::vector<metrics::TraceSlice> slices(std::vector<std::string>& lanes,
                                                        Clock::time_point origin) const;
  [[nodiscard]] int64_t left_out() const { return left_out_; }

 private:
  // What began and has ended when `end` is there.
  struct Span {
    comm::Moment begin;
    std::optional<comm::Moment> end = std::nullopt;
  };
  struct Done {
    plan::Operation operation;
    Span span;
  };
  struct Wait {
    std::string group;
    Span span;
  };
  struct Called {
    comm::Call call;
    std::optional<size_t> line;  // of the operation that made it
    Span span;
  };

  class Reading;  // moments as slices

  [[nodiscard]] comm::Moment now() const { return comm::Moment::now(device_); }
  // Whether there is room for one more; counts it otherwise.
  bool has_room();

  const plan::RankPlan& plan_;
  const c10::Device device_;
  const size_t most_;
  const comm::DeviceClock clock_;
  comm::Moment begin_;
  std::optional<comm::Moment> data_end_;
  std::optional<comm::Moment> end_;
  std::vector<Done> operations_;  // by line of the program
  std::vector<Wait> waits_;
  std::vector<Called> calls_;
  std::map<std::pair<std::string, uint64_t>, size_t> under_way_;  // in calls_, by group and number
  bool within_ = false;                                           // an operation
  bool waiting_ = false;
  int64_t left_out_ = 0;
};

}  // namespace shoal::train
