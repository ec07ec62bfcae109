// moment.h -- a point in what a rank does, taken without waiting and read later.
//
//   DeviceClock clock(device);
//   const Moment begin = Moment::now(device);
//   ...                                          // launches
//   begin.read(clock)                            // waits until the device has come there
//
// On a CPU it is the time at which it was taken. On a device with streams it is when the current
// stream comes to this place, which may be long after the host was there.
#pragma once

#include <memory>
#include <utility>

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "shoal/core/quantities.h"

namespace shoal::comm {

// The reference that converts events of a device to host time: one event, recorded at a known host
// time. A CPU needs none.
class DeviceClock {
 public:
  // Waits until the current stream has done its work.
  explicit DeviceClock(c10::Device device);

 private:
  friend class Moment;

  std::unique_ptr<c10::Event> origin_;
  Clock::time_point at_;
};

class Moment {
 public:
  explicit Moment(Clock::time_point at) : at_(at) {}
  static Moment now(c10::Device device);
  static Moment on(const c10::Stream& stream);

  // `clock` is of the same device, and was made before.
  [[nodiscard]] Clock::time_point read(const DeviceClock& clock) const;

 private:
  explicit Moment(std::unique_ptr<c10::Event> event) : event_(std::move(event)) {}

  std::unique_ptr<c10::Event> event_;
  Clock::time_point at_;
};

}  // namespace shoal::comm
