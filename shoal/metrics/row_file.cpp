#include "shoal/metrics/row_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/mapped_file.h"

namespace shoal::metrics {
namespace {

namespace fs = std::filesystem;

constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;

// Where the first row that has to go begins, or the end of the last whole one that stays.
size_t kept_bytes(std::string_view content,
                  size_t from,
                  int64_t step,
                  const RowFile::StepOf& step_of,
                  const fs::path& path) {
  size_t at = from;
  while (true) {
    const size_t end = content.find('\n', at);
    if (end == std::string_view::npos) return at;
    const std::optional<int64_t> found = step_of(content.substr(at, end - at));
    if (!found) {
      throw DataError(
          format("{}: what begins at byte {} is not a row of this file; move the file away, and a "
                 "new one is begun",
                 path.string(), at));
    }
    if (*found >= step) return at;
    at = end + 1;
  }
}

}  // namespace

RowFile::RowFile(fs::path path) : path_(std::move(path)) {
  fd_ = UniqueFd(::open(path_.c_str(), kAppend, kFileMode));
  if (!fd_.valid()) throw_file_error("open", path_);
}

RowFile::RowFile(fs::path path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

std::optional<RowFile> RowFile::create(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), kAppend | O_EXCL, kFileMode));
  if (fd.valid()) return RowFile(path, std::move(fd));
  if (errno == EEXIST) return std::nullopt;
  throw_file_error("create", path);
}

void RowFile::cut(int64_t step, const StepOf& step_of, std::string_view head) {
  const std::string first = head.empty() ? "" : std::string(head) + "\n";
  size_t kept = 0;
  {
    const MappedFile file(path_);
    const std::string_view content = file.bytes();
    if (content.starts_with(first)) {
      kept = kept_bytes(content, first.size(), step, step_of, path_);
    } else if (!first.starts_with(content)) {
      throw DataError(
          format("{} does not begin with \"{}\": another version of shoal or another "
                 "program wrote it; move the file away, and a new one is begun",
                 path_.string(), head));
    }
  }
  if (::ftruncate(fd_.get(), static_cast<off_t>(kept)) != 0) throw_file_error("cut", path_);
  if (kept == 0) append(first);
}

void RowFile::append(std::string_view bytes) {
  const off_t before = ::lseek(fd_.get(), 0, SEEK_END);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      const bool whole = ::ftruncate(fd_.get(), before) == 0;
      errno = reason;
      throw_file_error(whole ? "write" : "write a whole row of", path_);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void RowFile::sync() {
  if (::fdatasync(fd_.get()) != 0) throw_file_error("sync", path_);
}

}  // namespace shoal::metrics
