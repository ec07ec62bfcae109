// Address space that two views share: one for the program, whose protection says what the host may do, and one for
// tasks, which may do everything. Both show one memory file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace softcuda {

class Arena {
 public:
  // `protection` is that of the program's view, as for mmap.
  explicit Arena(int protection);

  // Pages, filled with zeros, in the program's view; null when the address space is used up. `bytes` is a multiple of
  // kPage. Not safe against other threads: memory.cpp has the lock.
  void* take(size_t bytes);
  void give_back(void* p, size_t bytes);

  bool contains(const void* p) const { return offset_of(p) < kBytes; }
  // The task's view of an address of the program's view.
  char* inside(const void* p) const { return inside_ + offset_of(p); }

  static constexpr size_t kPage = 4096;

 private:
  static constexpr size_t kBytes = size_t(256) << 30;  // only what is written to costs memory
  uintptr_t offset_of(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(outside_);
  }

  int file_;
  char* outside_;
  char* inside_;
  std::map<size_t, size_t> holes_ = {{0, kBytes}};  // offset and bytes
};

// Where the host can touch nothing.
Arena& device_arena();
// Where it can touch everything, except what an asynchronous copy uses (pinned.h).
Arena& pinned_arena();

// The address at which a task may touch `p`, which may also be ordinary memory.
void* inside(const void* p);

}  // namespace softcuda
