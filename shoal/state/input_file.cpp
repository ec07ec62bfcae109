#include "shoal/state/input_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::state {
InputFile::InputFile(std::filesystem::path path, uint64_t bytes)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  if (!fd_.valid()) throw_file_error("open", path_);
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_file_error("inspect", path_);
  if (!S_ISREG(status.st_mode)) throw DataError(format("{} is not a regular file", path_.string()));
  if (static_cast<uint64_t>(status.st_size) != bytes)
    throw DataError(
        format("{} has {} bytes, but {} were written", path_.string(), status.st_size, bytes));
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
