#include "shoal/core/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal {
namespace {

void* address_of(std::string_view bytes) { return const_cast<char*>(bytes.data()); }

int advice_of(MappedFile::Access access) {
  switch (access) {
    case MappedFile::Access::kSequential:
      return MADV_SEQUENTIAL;
    case MappedFile::Access::kRandom:
      return MADV_RANDOM;
    case MappedFile::Access::kWillNeed:
      return MADV_WILLNEED;
    case MappedFile::Access::kDone:
      return MADV_DONTNEED;
  }
  return MADV_NORMAL;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto [fd, size] = open_regular_file(path);
  if (size == 0) return;  // mmap refuses to map nothing
  const void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) throw_file_error("map", path);
  bytes_ = {static_cast<const char*>(address), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

void MappedFile::advise(Access access, size_t offset, size_t size) const {
  if (offset >= bytes_.size()) return;
  // The kernel takes whole pages only.
  const size_t into_page = offset % static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const std::string_view range = bytes_.substr(offset - into_page);
  size = std::min(size, bytes_.size() - offset) + into_page;
  (void)::madvise(address_of(range), size, advice_of(access));
}

void MappedFile::unmap() noexcept {
  if (!bytes_.empty()) ::munmap(address_of(bytes_), bytes_.size());
  bytes_ = {};
}

}  // namespace shoal
