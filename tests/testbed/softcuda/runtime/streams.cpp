// CUDA's calls on streams. What a stream is stands in stream.h.
#include <memory>

#include "counts.h"
#include "devices.h"
#include "errors.h"
#include "stream.h"

namespace softcuda {
namespace {

// The data of a task, which is either run or discarded.
class Data {
 public:
  Data(void (*call)(void*), void (*discard)(void*), void* data)
      : run_(call), discard_(discard), data_(data) {}
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() {
    if (!ran_) discard_(data_);
  }
  void run() {
    ran_ = true;
    run_(data_);
  }

 private:
  void (*run_)(void*);
  void (*discard_)(void*);
  void* data_;
  bool ran_ = false;
};

}  // namespace
}  // namespace softcuda

using namespace softcuda;

cudaError_t softcudaLaunch(cudaStream_t stream,
                           const char* name,
                           const SoftcudaRange* ranges,
                           size_t count,
                           void (*run)(void*),
                           void (*discard)(void*),
                           void* data) {
  Task task{.name = name, .ranges = {ranges, ranges + count}};
  task.run = [owned = std::make_shared<Data>(run, discard, data)] { owned->run(); };
  return enqueue(stream_of(stream), std::move(task));
}

size_t softcudaStreamNumber(cudaStream_t stream) { return stream_of(stream)->id; }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  stream_of(nullptr);  // the default streams have the first numbers
  *stream = reinterpret_cast<cudaStream_t>(make_stream(current_device(), flags, priority));
  return fail(device_error(current_device()));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

// Its thread finishes the queue, and waits for more that never comes.
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = stream_of(stream)->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Stream* stream = stream_of(handle);
  if (device_error(stream->device) != cudaSuccess) return fail(device_error(stream->device));
  Clock before;
  {
    std::lock_guard lock(order_mutex());
    before = stream->clock;
  }
  if (!stream->idle()) return fail(cudaErrorNotReady);
  host_waited(before);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  count_synchronization(Synchronization::kStream);
  return synchronize(stream_of(stream));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  Stream* stream = stream_of(handle);
  Clock before;
  {
    std::lock_guard lock(order_mutex());
    before = stream->clock;
    before.merge(host_clock());
  }
  Task task{.name = "cudaLaunchHostFunc"};
  // The function is the program's, and knows that what stood before it in the stream is over.
  task.run = [=] {
    host_waited(before);
    function(data);
  };
  return enqueue(stream, std::move(task));
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle,
                                  cudaStreamCallback_t function,
                                  void* data,
                                  unsigned) {
  Stream* stream = stream_of(handle);
  Clock before;
  {
    std::lock_guard lock(order_mutex());
    before = stream->clock;
  }
  Task task{.name = "cudaStreamAddCallback", .always = true};
  task.run = [=] {
    host_waited(before);
    function(handle, device_error(stream->device), data);
  };
  return enqueue(stream, std::move(task));
}

// Graphs are not doubled: nothing is ever captured.

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t,
                                     cudaStreamCaptureStatus* status,
                                     unsigned long long* id,
                                     cudaGraph_t*,
                                     const cudaGraphNode_t**,
                                     const cudaGraphEdgeData**,
                                     size_t*) {
  *status = cudaStreamCaptureStatusNone;
  if (id) *id = 0;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
