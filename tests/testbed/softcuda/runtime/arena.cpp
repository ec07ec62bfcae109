#include "arena.h"

#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report.h"
#include "softcuda.h"

namespace softcuda {

Arena::Arena(int protection) : file_(memfd_create("softcuda", MFD_CLOEXEC)) {
  if (file_ < 0 || ftruncate(file_, off_t(kBytes)) != 0) die("there is no file for device memory");
  const int flags = MAP_SHARED | MAP_NORESERVE;
  outside_ = static_cast<char*>(mmap(nullptr, kBytes, protection, flags, file_, 0));
  inside_ = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file_, 0));
  if (outside_ == MAP_FAILED || inside_ == MAP_FAILED) die("device memory cannot be mapped");
}

void* Arena::take(size_t bytes) {
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [offset, size] = *hole;
    if (size < bytes) continue;
    holes_.erase(hole);
    if (size > bytes) holes_[offset + bytes] = size - bytes;
    return outside_ + offset;
  }
  return nullptr;
}

void Arena::give_back(void* p, size_t bytes) {
  const size_t offset = offset_of(p);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(offset), off_t(bytes));
  auto hole = holes_.emplace(offset, bytes).first;
  const auto next = std::next(hole);
  if (next != holes_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole == holes_.begin()) return;
  const auto before = std::prev(hole);
  if (before->first + before->second != hole->first) return;
  before->second += hole->second;
  holes_.erase(hole);
}

Arena& device_arena() {
  static Arena& made = *new Arena(PROT_NONE);
  return made;
}

Arena& pinned_arena() {
  static Arena& made = *new Arena(PROT_READ | PROT_WRITE);
  return made;
}

void* inside(const void* p) {
  if (device_arena().contains(p)) return device_arena().inside(p);
  if (pinned_arena().contains(p)) return pinned_arena().inside(p);
  return const_cast<void*>(p);
}

}  // namespace softcuda

void* softcudaInside(const void* p) { return softcuda::inside(p); }
