#include "stream.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "devices.h"
#include "errors.h"
#include "failures.h"
#include "memory.h"
#include "pinned.h"
#include "races.h"
#include "report.h"
#include "settings.h"

namespace softcuda {
namespace {

std::atomic<unsigned long> tasks_run{0};
thread_local int running_on = -1;

std::mutex& streams_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

std::vector<Stream*>& all_streams() {
  static auto& made = *new std::vector<Stream*>;
  return made;
}

void write_zeros(const Task& task) {
  for (const SoftcudaRange& range : task.ranges) {
    if (range.writes) std::memset(softcudaInside(range.begin), 0, range.bytes);
  }
}

void run_task(Stream& stream, Task& task) {
  for (const auto& [other, tasks] : task.after) other->wait_for(tasks);
  if (!task.always) {
    if (device_error(stream.device) != cudaSuccess) return;
    if (task_that_fails().is(stream.device, task.name)) {
      fail_device(stream.device, task.name, cudaErrorIllegalAddress, "asked for by SOFTCUDA_FAIL");
      return;
    }
    for (const SoftcudaRange& range : task.ranges) {
      if (is_allocated(range.begin, range.bytes)) continue;
      const std::string why = std::string(range.operand) + " is memory that is not allocated";
      fail_device(stream.device, task.name, cudaErrorIllegalAddress, why.c_str());
      return;
    }
  }
  task.run();
  if (task_that_is_spoilt().is(stream.device, task.name)) write_zeros(task);
}

void run(Stream& stream) {
  running_on = stream.device;
  set_current_device(stream.device);
  std::mt19937_64 random(settings().seed * 7919 + stream.id);
  for (;;) {
    Task task;
    {
      std::unique_lock lock(stream.mutex);
      stream.changed.wait(lock, [&] { return !stream.queue.empty(); });
      task = std::move(stream.queue.front());
      stream.queue.pop_front();
    }
    if (settings().jitter_us > 0) {
      const uint64_t us = random() % (settings().jitter_us + 1);
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
    run_task(stream, task);
    task = {};  // what it holds is gone before anybody is told
    ++tasks_run;
    {
      std::lock_guard lock(stream.mutex);
      ++stream.completed;
    }
    stream.changed.notify_all();
  }
}

// The thread must be made before order_mutex is taken: making one hands on the creator's clock.
void start(Stream& stream) {
  std::lock_guard lock(stream.mutex);
  if (stream.started) return;
  stream.started = true;
  std::thread([&stream] { run(stream); }).detach();
}

bool is_blocking(const Stream& stream) { return !(stream.flags & cudaStreamNonBlocking); }

// The streams that `stream` implicitly waits for: the default stream for all blocking ones of its device, and they for
// it.
std::vector<Stream*> implicit_waits(const Stream* stream) {
  std::vector<Stream*> others;
  if (!is_blocking(*stream)) return others;
  for (Stream* other : streams_of_device(stream->device)) {
    if (other != stream && is_blocking(*other) && (stream->is_legacy || other->is_legacy)) {
      others.push_back(other);
    }
  }
  return others;
}

Stream* legacy_stream(int device) {
  static Stream** const made = [] {
    auto** streams = new Stream*[size_t(settings().devices)];
    for (int i = 0; i < settings().devices; ++i) {
      streams[i] = make_stream(i, cudaStreamDefault, 0);
      streams[i]->is_legacy = true;
    }
    return streams;
  }();
  return made[device];
}

Stream* own_stream(int device) {
  thread_local std::vector<Stream*> own(size_t(settings().devices));
  Stream*& stream = own[size_t(device)];
  if (!stream) stream = make_stream(device, cudaStreamDefault, 0);
  return stream;
}

}  // namespace

void Stream::wait_for(uint64_t tasks) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return completed >= tasks; });
}

void Stream::wait() {
  std::unique_lock lock(mutex);
  const uint64_t target = submitted;
  changed.wait(lock, [&] { return completed >= target; });
}

bool Stream::idle() {
  std::lock_guard lock(mutex);
  return completed == submitted;
}

Stream* make_stream(int device, unsigned flags, int priority) {
  auto* stream = new Stream;
  std::lock_guard lock(streams_mutex());
  stream->id = all_streams().size();
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  all_streams().push_back(stream);
  return stream;
}

Stream* stream_of(cudaStream_t handle) {
  legacy_stream(0);  // the default streams have the first numbers
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy_stream(current_device());
  if (handle == cudaStreamPerThread) return own_stream(current_device());
  return reinterpret_cast<Stream*>(handle);
}

std::vector<Stream*> streams_of_device(int device) {
  std::vector<Stream*> found;
  std::lock_guard lock(streams_mutex());
  for (Stream* stream : all_streams()) {
    if (stream->device == device) found.push_back(stream);
  }
  return found;
}

cudaError_t enqueue(Stream* stream, Task task) {
  if (!task.always && device_error(stream->device) != cudaSuccess) {
    return fail(device_error(stream->device));
  }
  if (settings().trace) {
    report("stream %zu of GPU %d gets %s", stream->id, stream->device, task.name);
  }
  start(*stream);
  const std::vector<Stream*> others = implicit_waits(stream);
  std::lock_guard order(order_mutex());
  stream->clock.merge(host_clock());
  for (Stream* other : others) {
    stream->clock.merge(other->clock);
    std::lock_guard lock(other->mutex);
    if (other->completed < other->submitted) task.after.emplace_back(other, other->submitted);
  }
  const uint64_t when = stream->clock.tick(stream->id);
  check_races(task.ranges, task.name, stream->id, when, stream->clock);
  guard_pinned(task.ranges, task.name, stream->id, when);
  {
    std::lock_guard lock(stream->mutex);
    stream->queue.push_back(std::move(task));
    ++stream->submitted;
  }
  stream->changed.notify_all();
  return cudaSuccess;
}

cudaError_t synchronize(Stream* stream) {
  std::vector<Stream*> waited{stream};
  if (stream->is_legacy) {
    for (Stream* other : implicit_waits(stream)) waited.push_back(other);
  }
  for (Stream* one : waited) {
    Clock before;
    {
      std::lock_guard lock(order_mutex());
      before = one->clock;
    }
    one->wait();
    host_waited(before);
  }
  return fail(device_error(stream->device));
}

cudaError_t synchronize_device(int device) {
  for (Stream* stream : streams_of_device(device)) synchronize(stream);
  return fail(device_error(device));
}

int device_of_running_task() { return running_on; }

}  // namespace softcuda

unsigned long softcudaTasks() { return softcuda::tasks_run; }
