#include "shoal/state/input_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::state {
InputFile::InputFile(std::filesystem::path path, uint64_t bytes) : path_(std::move(path)) {
  RegularFile file = open_regular_file(path_, O_NOFOLLOW);
  fd_ = std::move(file.fd);
  if (file.bytes != bytes)
    throw DataError(
        format("{} has {} bytes, but {} were written", path_.string(), file.bytes, bytes));
}

void InputFile::read_at(uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path_);
    if (got == 0) throw DataError(format("{} ends at {} now", path_.string(), at));
    at += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
}

}  // namespace shoal::state
