// What is allocated where: device memory by GPU, with its limit, and pinned host memory.
#pragma once

#include <cstddef>
#include <optional>

#include <cuda_runtime_api.h>

namespace softcuda {

enum class Place { kPageable, kPinned, kDevice };

struct Block {
  void* begin = nullptr;
  size_t bytes = 0;     // as asked for
  size_t reserved = 0;  // as taken from the arena; 0 when the program owns the memory
  Place place = Place::kPageable;
  int device = -1;
};

// The block that holds the address; nothing for memory that CUDA does not know.
std::optional<Block> block_of(const void* p);

Place place_of(const void* p);

// Whether all bytes belong to one block that is not freed.
bool is_allocated(const void* begin, size_t bytes);

// Bytes of the device that are taken.
size_t memory_used(int device);

}  // namespace softcuda
