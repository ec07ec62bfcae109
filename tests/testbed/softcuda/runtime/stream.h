// A stream: a queue with a thread. What is put into it runs in order, one task after the other, when the thread gets to
// it; streams wait for each other only where somebody asked for it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "clock.h"
#include "softcuda.h"

namespace softcuda {

struct Stream;

struct Task {
  const char* name = "";
  std::vector<SoftcudaRange> ranges;
  std::function<void()> run;
  // A task that hands control to other tasks or hosts (a record, a wait, a callback): it runs also when the device has
  // failed, or they would wait for ever.
  bool always = false;
  // Streams and how many of their tasks must be over before this one begins.
  std::vector<std::pair<Stream*, uint64_t>> after = {};
};

struct Stream {
  size_t id = 0;
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  bool is_legacy = false;  // the default stream of its device

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> queue;  // by mutex
  uint64_t submitted = 0;  // by mutex
  uint64_t completed = 0;  // by mutex
  bool started = false;    // by mutex
  Clock clock;             // by order_mutex

  void wait_for(uint64_t tasks);
  void wait();
  bool idle();
};

// Streams are never freed: their threads outlive main, and queued tasks outlive cudaStreamDestroy.
Stream* make_stream(int device, unsigned flags, int priority);

// The stream of a handle: null and cudaStreamLegacy are the default stream of the calling thread's device,
// cudaStreamPerThread is the thread's own.
Stream* stream_of(cudaStream_t handle);

// All streams of a device that exist.
std::vector<Stream*> streams_of_device(int device);

// Puts a task behind what the stream has, with the implicit waits of the default stream, and checks it for races. The
// error of a device that has failed, or success.
cudaError_t enqueue(Stream* stream, Task task);

// The host waits for what the stream has now, and knows it.
cudaError_t synchronize(Stream* stream);
cudaError_t synchronize_device(int device);

// The device of the task that this thread runs; -1 outside of tasks.
int device_of_running_task();

}  // namespace softcuda
