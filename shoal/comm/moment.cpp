#include "shoal/comm/moment.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace shoal::comm {
namespace {

// BACKEND_DEFAULT: one that has a time, which those that only order streams do without.
std::unique_ptr<c10::Event> event_on(const c10::Stream& stream) {
  auto event = std::make_unique<c10::Event>(stream.device_type(), c10::EventFlag::BACKEND_DEFAULT);
  event->record(stream);
  return event;
}

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

DeviceClock::DeviceClock(c10::Device device) {
  if (device.is_cpu()) return;
  origin_ = event_on(current_stream(device));
  origin_->synchronize();
  at_ = Clock::now();
}

Moment Moment::now(c10::Device device) {
  return device.is_cpu() ? Moment(Clock::now()) : on(current_stream(device));
}

Moment Moment::on(const c10::Stream& stream) { return Moment(event_on(stream)); }

Clock::time_point Moment::read(const DeviceClock& clock) const {
  if (!event_) return at_;
  event_->synchronize();
  const std::chrono::duration<double, std::milli> since(clock.origin_->elapsedTime(*event_));
  return clock.at_ + std::chrono::round<Clock::duration>(since);
}

}  // namespace shoal::comm
