// In a file of its own: where it is inlined, g++ takes malloc and free for mismatched.
#include "tests/data/loader/counted_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> g_allocations = 0;

}  // namespace

uint64_t allocations_so_far() { return g_allocations; }

// Sanitizers bring their own, and must see all of it.
#ifndef SHOAL_SANITIZED
void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
