#include "shoal/train/step_timeline.h"

#include <algorithm>

#include "shoal/core/format.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/volume.h"

namespace shoal::train {
namespace {

using metrics::SliceKind;
using metrics::TraceSlice;
using plan::Operation;
using plan::OpKind;

constexpr const char* kCompute = "compute";

bool has_company(const comm::Call& call) { return call.group_size > 1; }

bool is_transfer(const comm::Call& call) {
  return call.op == comm::Op::kSend || call.op == comm::Op::kRecv;
}

// Returns a number that a transfer has on both of its sides, and no other of the step; nothing for other operations.
// It is a number because Perfetto takes no text there.
std::optional<int64_t> flow_of(const plan::RankPlan& plan, const Operation& operation) {
  const bool sends = operation.kind == OpKind::kSend;
  if (!sends && operation.kind != OpKind::kReceive) return std::nullopt;
  const bool onwards = operation.pass == plan::Op::kForward;
  const int stage = plan.schedule.stage_of(plan.pipeline_rank, operation.chunk);
  const int receiving = sends ? stage + (onwards ? 1 : -1) : stage;
  const auto micro_batches = static_cast<int64_t>(plan.rows.size());
  const int64_t pipeline = plan.mesh.group_index(plan.rank, plan::Axis::kPp);
  const int64_t transfer =
      (pipeline * micro_batches + operation.micro_batch) * plan.schedule.stages() + receiving;
  return 2 * transfer + (onwards ? 1 : 0);
}

}  // namespace

// Turns moments into slices: times from the origin, and lanes in the order in which they are first needed.
class StepTimeline::Reading {
 public:
  Reading(const StepTimeline& timeline, std::vector<std::string>& lanes, Clock::time_point origin)
      : timeline_(timeline), lanes_(lanes), origin_(origin) {
    lanes_.assign({kCompute});
  }

  void add(SliceKind kind, std::string name, const comm::Moment& begin, const comm::Moment& end) {
    slices_.push_back(
        {.kind = kind, .name = std::move(name), .begin = time_of(begin), .end = time_of(end)});
  }

  void add(const Done& done, size_t line) {
    if (!done.span.end) return;
    add(SliceKind::kOperation, plan::label(timeline_.plan_, done.operation), done.span.begin,
        *done.span.end);
    describe(line, slices_.back());
    int64_t bytes = 0;
    for (const plan::OperationCall& call : plan::calls_of(timeline_.plan_, done.operation))
      if (timeline_.plan_.ranks(call.axes) > 1) bytes += call.bytes;
    if (bytes > 0) slices_.back().bytes = bytes;
  }

  void add(const Wait& wait) {
    if (!wait.span.end) return;
    add(SliceKind::kWait, "wait for " + wait.group, wait.span.begin, *wait.span.end);
    slices_.back().group = wait.group;
  }

  void add(const Called& called) {
    if (!called.span.end) return;
    const int64_t started = time_of(called.span.begin);
    const size_t lane = lane_of(called.call, started);
    TraceSlice slice{.kind = SliceKind::kCall, .lane = lane, .name = called.call.what};
    slice.begin = std::max(started, ended_[lane]);
    slice.end = ended_[lane] = std::max(time_of(*called.span.end), slice.begin);
    slice.bytes = called.call.bytes;
    slice.group = called.call.group;
    slice.what = format("{} of {}", comm::op_name(called.call.op), called.call.what);
    if (called.line) {
      const Operation& operation = timeline_.operations_[*called.line].operation;
      describe(*called.line, slice);
      if (!plan::computes(operation.kind)) slice.name = plan::label(timeline_.plan_, operation);
      slice.flow = flow_of(timeline_.plan_, operation);
      slice.receives = operation.kind == OpKind::kReceive;
    }
    slices_.push_back(std::move(slice));
  }

  [[nodiscard]] std::vector<TraceSlice> slices() { return std::move(slices_); }

 private:
  [[nodiscard]] int64_t time_of(const comm::Moment& moment) const {
    const Clock::time_point at = moment.read(timeline_.clock_);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(at - origin_).count();
  }

  void describe(size_t line, TraceSlice& slice) const {
    const Operation& operation = timeline_.operations_[line].operation;
    slice.line = static_cast<int64_t>(line);
    if (plan::has_micro_batch(operation.kind)) slice.micro_batch = operation.micro_batch;
  }

  // The collectives of a group run one after the other: one begins when that before it has ended. Transfers wait for
  // none: each has the first lane that is free when it is started.
  size_t lane_of(const comm::Call& call, int64_t started) {
    if (!is_transfer(call)) return number_of(call.group);
    const std::string name = call.group + (call.op == comm::Op::kSend ? " send" : " receive");
    size_t lane = number_of(name);
    for (int i = 2; ended_[lane] > started; ++i) lane = number_of(format("{} {}", name, i));
    return lane;
  }

  size_t number_of(const std::string& lane) {
    const auto found = std::find(lanes_.begin(), lanes_.end(), lane);
    const auto number = static_cast<size_t>(found - lanes_.begin());
    if (found == lanes_.end()) lanes_.push_back(lane);
    ended_.resize(lanes_.size());
    return number;
  }

  const StepTimeline& timeline_;
  std::vector<std::string>& lanes_;
  const Clock::time_point origin_;
  std::vector<TraceSlice> slices_;
  std::vector<int64_t> ended_;  // by lane: end of its last slice
};

StepTimeline::StepTimeline(const plan::RankPlan& plan, c10::Device device, size_t most)
    : plan_(plan), device_(device), most_(most), clock_(device), begin_(now()) {}

bool StepTimeline::has_room() {
  const bool room = operations_.size() + waits_.size() + calls_.size() < most_;
  left_out_ += room ? 0 : 1;
  return room;
}

void StepTimeline::before(const Operation& operation) {
  within_ = has_room();
  if (within_) operations_.push_back({.operation = operation, .span = {now()}});
}

void StepTimeline::after(const Operation& /*operation*/) {
  if (within_) operations_.back().span.end = now();
  within_ = false;
}

void StepTimeline::on_call(const comm::Call& call) {
  if (!has_company(call) || !has_room()) return;
  under_way_[{call.group, call.number}] = calls_.size();
  calls_.push_back({.call = call,
                    .line = within_ ? std::optional(operations_.size() - 1) : std::nullopt,
                    .span = {now()}});
}

void StepTimeline::before_wait(const comm::Call& call) {
  waiting_ = within_ && has_company(call) && has_room();
  if (waiting_) waits_.push_back({.group = call.group, .span = {now()}});
}

void StepTimeline::after_wait(const comm::Call& call, comm::Moment ended) {
  if (waiting_) waits_.back().span.end = now();
  waiting_ = false;
  const auto found = under_way_.find({call.group, call.number});
  if (found == under_way_.end()) return;
  calls_[found->second].span.end = std::move(ended);
  under_way_.erase(found);
}

std::vector<TraceSlice> StepTimeline::slices(std::vector<std::string>& lanes,
                                             Clock::time_point origin) const {
  Reading reading(*this, lanes, origin);
  if (end_) reading.add(SliceKind::kStep, "step", begin_, *end_);
  if (data_end_) reading.add(SliceKind::kData, "wait for data", begin_, *data_end_);
  for (size_t line = 0; line < operations_.size(); ++line) reading.add(operations_[line], line);
  for (const Wait& wait : waits_) reading.add(wait);
  for (const Called& called : calls_) reading.add(called);
  return reading.slices();
}

}  // namespace shoal::train
