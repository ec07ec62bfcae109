#include "shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace softcuda {

bool Shared::open(const std::string& name, int ranks) {
  constexpr size_t kPage = 4096;
  const size_t head = (sizeof(Head) + kPage - 1) / kPage * kPage;
  const size_t slots = size_t(ranks) * kSlotBytes;
  const size_t bytes = head + slots + size_t(ranks) * size_t(ranks) * sizeof(Box);
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0) return false;
  void* at = MAP_FAILED;
  if (ftruncate(file, off_t(bytes)) == 0) {
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (at == MAP_FAILED) return false;
  // A new file is zeros, which is the beginning of every counter.
  head_ = static_cast<Head*>(at);
  slots_ = static_cast<char*>(at) + head;
  boxes_ = reinterpret_cast<Box*>(slots_ + slots);
  ranks_ = ranks;
  return true;
}

void Shared::remove_name(const std::string& name) { shm_unlink(name.c_str()); }

}  // namespace softcuda
