// cudaMemcpy and cudaMemset in their forms.
#include <cstring>
#include <memory>
#include <vector>

#include "arena.h"
#include "counts.h"
#include "errors.h"
#include "memory.h"
#include "stream.h"

namespace softcuda {
namespace {

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  bool blocking;
  const char* name;
};

bool is_host(Place place) { return place != Place::kDevice; }

// Addresses that CUDA knows must have as many bytes as are copied.
bool fits(const void* p, size_t bytes, Place place) {
  return place == Place::kPageable || is_allocated(p, bytes);
}

cudaError_t copy(const Copy& what, cudaStream_t handle) {
  if (what.bytes == 0) return cudaSuccess;
  Stream* stream = stream_of(handle);
  const Place source = place_of(what.from), target = place_of(what.to);
  if (!fits(what.from, what.bytes, source) || !fits(what.to, what.bytes, target)) {
    return fail(cudaErrorInvalidValue);
  }
  count_copy(what.bytes, is_host(source), is_host(target),
             source == Place::kPageable || target == Place::kPageable, what.blocking);
  Task task{.name = what.name};
  if (source != Place::kPageable) task.ranges.push_back({what.from, what.bytes, 0, "source"});
  if (target != Place::kPageable) task.ranges.push_back({what.to, what.bytes, 1, "destination"});
  if (source == Place::kPageable) {
    // The driver has taken pageable memory when the call returns ...
    const auto* begin = static_cast<const char*>(what.from);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + what.bytes);
    task.run = [to = what.to, staged] { std::memcpy(inside(to), staged->data(), staged->size()); };
  } else {
    task.run = [what] { std::memmove(inside(what.to), inside(what.from), what.bytes); };
  }
  const cudaError_t error = enqueue(stream, std::move(task));
  if (error != cudaSuccess) return error;
  // ... and has written it.
  return what.blocking || target == Place::kPageable ? synchronize(stream) : cudaSuccess;
}

cudaError_t fill(void* to, int value, size_t bytes, cudaStream_t handle, const char* name) {
  if (bytes == 0) return cudaSuccess;
  if (!is_allocated(to, bytes)) return fail(cudaErrorInvalidValue);
  count_memset(bytes);
  Task task{.name = name, .ranges = {{to, bytes, 1, "destination"}}};
  task.run = [=] { std::memset(inside(to), value, bytes); };
  return enqueue(stream_of(handle), std::move(task));
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return copy({to, from, bytes, true, "cudaMemcpy"}, nullptr);
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return copy({to, from, bytes, false, "cudaMemcpyAsync"}, stream);
}

cudaError_t cudaMemcpyPeerAsync(
    void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copy({to, from, bytes, false, "cudaMemcpyPeerAsync"}, stream);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return fill(to, value, bytes, nullptr, "cudaMemset");
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fill(to, value, bytes, stream, "cudaMemsetAsync");
}
