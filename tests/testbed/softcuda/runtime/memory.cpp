#include "memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "arena.h"
#include "counts.h"
#include "devices.h"
#include "errors.h"
#include "faults.h"
#include "pinned.h"
#include "races.h"
#include "settings.h"
#include "stream.h"

namespace softcuda {
namespace {

std::mutex& memory_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// By memory_mutex.
std::map<uintptr_t, Block>& blocks() {
  static auto& made = *new std::map<uintptr_t, Block>;
  return made;
}
size_t used[kMostDevices] = {};

size_t rounded(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + Arena::kPage - 1) / Arena::kPage * Arena::kPage;
}

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

cudaError_t allocate(void** p, size_t bytes, Place place, int device) {
  name_faults();
  const size_t reserved = rounded(bytes);
  const bool on_device = place == Place::kDevice;
  Arena& arena = on_device ? device_arena() : pinned_arena();
  std::lock_guard lock(memory_mutex());
  if (on_device && used[device] + reserved > settings().memory) return cudaErrorMemoryAllocation;
  void* const made = arena.take(reserved);
  if (!made) return cudaErrorMemoryAllocation;
  // NaN in every floating-point type: memory that is read before it is written shows in the numbers.
  if (on_device && settings().poison) std::memset(arena.inside(made), 0xFF, reserved);
  if (on_device) used[device] += reserved;
  blocks()[address(made)] = {made, std::max<size_t>(bytes, 1), reserved, place, device};
  *p = made;
  return cudaSuccess;
}

// Removes the block that begins at `p`, when it is of that place.
std::optional<Block> remove(void* p, Place place) {
  std::lock_guard lock(memory_mutex());
  const auto found = blocks().find(address(p));
  if (found == blocks().end() || found->second.place != place) return std::nullopt;
  const Block block = found->second;
  blocks().erase(found);
  if (place == Place::kDevice) used[block.device] -= block.reserved;
  return block;
}

cudaError_t release(void* p, Place place) {
  const std::optional<Block> block = remove(p, place);
  if (!block) return cudaErrorInvalidValue;
  forget_touches(block->begin, block->bytes);
  forget_pinned(block->begin, block->bytes);
  if (block->reserved == 0) return cudaSuccess;
  std::lock_guard lock(memory_mutex());
  (place == Place::kDevice ? device_arena() : pinned_arena()).give_back(p, block->reserved);
  return cudaSuccess;
}

cudaError_t synchronize_all() {
  cudaError_t error = cudaSuccess;
  for (int device = 0; device < settings().devices; ++device) {
    const cudaError_t one = synchronize_device(device);
    if (one != cudaSuccess) error = one;
  }
  return error;
}

}  // namespace

std::optional<Block> block_of(const void* p) {
  std::lock_guard lock(memory_mutex());
  auto after = blocks().upper_bound(address(p));
  if (after == blocks().begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  if (address(p) >= address(block.begin) + block.bytes) return std::nullopt;
  return block;
}

Place place_of(const void* p) {
  const std::optional<Block> block = block_of(p);
  return block ? block->place : Place::kPageable;
}

bool is_allocated(const void* begin, size_t bytes) {
  if (bytes == 0) return true;
  const std::optional<Block> block = block_of(begin);
  return block && address(begin) + bytes <= address(block->begin) + block->bytes;
}

size_t memory_used(int device) {
  std::lock_guard lock(memory_mutex());
  return used[device];
}

}  // namespace softcuda

using namespace softcuda;

cudaError_t cudaMalloc(void** p, size_t bytes) {
  const int device = current_device();
  if (device_error(device) != cudaSuccess) return fail(device_error(device));
  count_allocation(bytes);
  return fail(allocate(p, bytes, Place::kDevice, device));
}

cudaError_t cudaFree(void* p) {
  if (!p) return fail(device_error(current_device()));
  const std::optional<Block> block = block_of(p);
  if (!block || block->begin != p) return fail(cudaErrorInvalidValue);
  count_free();
  const cudaError_t error = synchronize_device(block->device);
  const cudaError_t released = release(p, Place::kDevice);
  return fail(error != cudaSuccess ? error : released);
}

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  count_pinned_allocation(bytes);
  return fail(allocate(p, bytes, Place::kPinned, current_device()));
}

cudaError_t cudaMallocHost(void** p, size_t bytes) { return cudaHostAlloc(p, bytes, 0); }

cudaError_t cudaFreeHost(void* p) {
  if (!p) return cudaSuccess;
  const cudaError_t error = synchronize_all();
  const cudaError_t released = release(p, Place::kPinned);
  return fail(error != cudaSuccess ? error : released);
}

cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  if (block_of(p)) return fail(cudaErrorHostMemoryAlreadyRegistered);
  std::lock_guard lock(memory_mutex());
  blocks()[address(p)] = {p, bytes, 0, Place::kPinned, current_device()};
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* p) {
  const cudaError_t error = release(p, Place::kPinned);
  return fail(error == cudaErrorInvalidValue ? cudaErrorHostMemoryNotRegistered : error);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *total = settings().memory;
  *free_bytes = settings().memory - memory_used(current_device());
  return fail(device_error(current_device()));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  const std::optional<Block> block = block_of(p);
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = -1;
  if (!block) return cudaSuccess;
  const bool on_device = block->place == Place::kDevice;
  attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->device = block->device;
  attributes->devicePointer = const_cast<void*>(p);
  attributes->hostPointer = on_device ? nullptr : const_cast<void*>(p);
  return cudaSuccess;
}
