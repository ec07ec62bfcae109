#include "shoal/state/output_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shoal/core/error.h"

namespace shoal::state {
namespace {

constexpr uint64_t kWindowBytes = uint64_t{16} << 20;

}  // namespace

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode)) {
  if (!fd_.valid()) throw_file_error("create", path_);
}

void OutputFile::write_at(uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_file_error("write", path_);
    at += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
    not_begun_ += static_cast<uint64_t>(written);
    if (not_begun_ < kWindowBytes) continue;
    // Only a hint: where it is not understood, close() does all the work.
    (void)::sync_file_range(fd_.get(), static_cast<off_t>(at - std::min(at, not_begun_)),
                            static_cast<off_t>(not_begun_), SYNC_FILE_RANGE_WRITE);
    not_begun_ = 0;
  }
}

void OutputFile::write_at(uint64_t at, std::string_view bytes) {
  write_at(at, std::as_bytes(std::span(bytes)));
}

void OutputFile::close() {
  if (::fdatasync(fd_.get()) != 0) throw_file_error("sync", path_);
  if (::close(fd_.release()) != 0) throw_file_error("close", path_);
}

}  // namespace shoal::state
