#include "events.h"

#include <algorithm>

#include "counts.h"
#include "devices.h"
#include "errors.h"
#include "stream.h"

namespace softcuda {
namespace {

EventRef& event_of(cudaEvent_t handle) { return *reinterpret_cast<EventRef*>(handle); }

Clock clock_of(const Event& event) {
  std::lock_guard lock(order_mutex());
  return event.clock;
}

cudaError_t record(const EventRef& event, Stream* stream) {
  uint64_t number = 0;
  {
    std::lock_guard lock(event->mutex);
    number = ++event->recorded;
    event->device = stream->device;
  }
  Task task{.name = "cudaEventRecord", .always = true};
  task.run = [event, number] {
    {
      std::lock_guard lock(event->mutex);
      event->completed = std::max(event->completed, number);
      event->time = std::chrono::steady_clock::now();
    }
    event->changed.notify_all();
  };
  enqueue(stream, std::move(task));
  std::lock_guard lock(order_mutex());
  event->clock = stream->clock;
  return fail(device_error(stream->device));
}

cudaError_t make_wait(Stream* stream, const EventRef& event) {
  uint64_t number = 0;
  {
    std::lock_guard lock(event->mutex);
    number = event->recorded;  // of now, not of when the task runs
  }
  Task task{.name = "cudaStreamWaitEvent", .always = true};
  task.run = [event, number] {
    std::unique_lock lock(event->mutex);
    event->changed.wait(lock, [&] { return event->completed >= number; });
  };
  enqueue(stream, std::move(task));
  std::lock_guard lock(order_mutex());
  stream->clock.merge(event->clock);
  return fail(device_error(stream->device));
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new EventRef(std::make_shared<Event>()));
  return fail(device_error(current_device()));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<EventRef*>(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record(event_of(event), stream_of(stream));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(event_of(event), stream_of(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return make_wait(stream_of(stream), event_of(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  count_synchronization(Synchronization::kEvent);
  const EventRef event = event_of(handle);
  const Clock clock = clock_of(*event);
  {
    std::unique_lock lock(event->mutex);
    const uint64_t number = event->recorded;
    event->changed.wait(lock, [&] { return event->completed >= number; });
  }
  host_waited(clock);
  return fail(device_error(event->device));
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const EventRef event = event_of(handle);
  const Clock clock = clock_of(*event);
  if (device_error(event->device) != cudaSuccess) return fail(device_error(event->device));
  {
    std::lock_guard lock(event->mutex);
    if (event->completed < event->recorded) return fail(cudaErrorNotReady);
  }
  host_waited(clock);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  const EventRef from = event_of(begin), to = event_of(end);
  std::scoped_lock lock(from->mutex, to->mutex);
  if (from->recorded == 0 || to->recorded == 0) return fail(cudaErrorInvalidResourceHandle);
  if (from->completed < from->recorded || to->completed < to->recorded) {
    return fail(cudaErrorNotReady);
  }
  *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}
