#include "shoal/comm/call_end.h"

#include <algorithm>

#include <ATen/core/ivalue.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "shoal/comm/group_state.h"
#include "shoal/comm/ordered_worker.h"

namespace shoal::comm {
namespace {

// Returns the future of a work; nullptr when it has none.
c10::intrusive_ptr<c10::ivalue::Future> future_of(c10d::Work& work) {
  try {
    return work.getFuture();
  } catch (const c10::Error&) {
    return nullptr;
  }
}

// A stream that waits for nothing but calls of one group has come to a place when these are over.
Moment end_on_stream(GroupState& state, const std::vector<c10::intrusive_ptr<c10d::Work>>& works) {
  const c10::impl::VirtualGuardImpl device(state.device.type());
  if (!state.beside) state.beside = device.getStreamFromGlobalPool(state.device);
  const c10::StreamGuard guard(*state.beside);
  for (const auto& work : works) work->wait();
  return Moment::on(*state.beside);
}

}  // namespace

CallEnd::CallEnd(GroupState& state,
                 const Call& call,
                 const std::vector<c10::intrusive_ptr<c10d::Work>>& works)
    : works_(works), told_(std::make_shared<std::atomic<Clock::rep>>(0)) {
  if (state.on_streams()) {
    on_stream_ = end_on_stream(state, works);
    return;
  }
  if (call.op == Op::kSend || call.op == Op::kRecv) return;  // asking Gloo would throw
  const auto tell = [told = told_] { *told = Clock::now().time_since_epoch().count(); };
  for (const auto& work : works) {
    if (ended_at(*work) != nullptr) continue;
    if (work->isCompleted())
      tell();
    else if (const auto future = future_of(*work))
      future->addCallback([tell](c10::ivalue::Future&) { tell(); });
  }
}

Moment CallEnd::take() {
  if (on_stream_) return std::move(*on_stream_);
  Clock::time_point latest(Clock::duration(told_->load()));
  for (const auto& work : works_) {
    const std::atomic<Clock::rep>* const ended = ended_at(*work);
    if (ended != nullptr) latest = std::max(latest, Clock::time_point(Clock::duration(*ended)));
  }
  works_.clear();
  return Moment(latest == Clock::time_point() ? Clock::now() : latest);
}

}  // namespace shoal::comm
