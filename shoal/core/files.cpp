#include "shoal/core/files.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/file_error.h"
#include "shoal/core/log.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

UniqueFd open_or_throw(const fs::path& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd.valid()) throw_file_error("open", path);
  return fd;
}

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_file_error("write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
}

fs::path directory_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

// Removed again unless it was published.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& path, unsigned mode) : file_(create_file_beside(path, mode)) {}

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() {
    if (!published_) ::unlink(file_.path.c_str());
  }

  void fill(std::string_view content) {
    write_all(file_.fd.get(), content, file_.path);
    if (::fdatasync(file_.fd.get()) != 0) throw_file_error("sync", file_.path);
  }

  void rename_to(const fs::path& path) {
    if (::rename(file_.path.c_str(), path.c_str()) != 0) throw_file_error("replace", path);
    published_ = true;
  }

  bool link_to(const fs::path& path) {
    if (::link(file_.path.c_str(), path.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
    throw_file_error("create", path);
  }

 private:
  FileBeside file_;
  bool published_ = false;
};

}  // namespace

void throw_file_error(const char* verb, const fs::path& path) {
  throw_file_error(verb, path, std::error_code(errno, std::generic_category()));
}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

ChunkReader::ChunkReader(const fs::path& path) : path_(path == "-" ? "standard input" : path) {
  if (path == "-") {
    fd_ = UniqueFd(::dup(STDIN_FILENO));
    if (!fd_.valid()) throw_file_error("open", path_);
  } else {
    fd_ = open_or_throw(path_, O_RDONLY);
  }
}

std::string ChunkReader::next(size_t max_bytes) {
  std::string chunk(max_bytes, '\0');
  size_t size = 0;
  while (size < max_bytes) {  // a pipe gives less at a time
    const ssize_t got = ::read(fd_.get(), chunk.data() + size, max_bytes - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path_);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  chunk.resize(size);
  return chunk;
}

std::string read_file(const fs::path& path, size_t max_bytes) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer; fstat refuses it right after.
  const UniqueFd fd = open_or_throw(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_file_error("inspect", path);
  if (!S_ISREG(status.st_mode)) throw DataError(format("{} is not a regular file", path.string()));
  if (static_cast<uint64_t>(status.st_size) > max_bytes) {
    throw DataError(format("{} has {} bytes, but at most {} are accepted here", path.string(),
                           status.st_size, max_bytes));
  }
  std::string content(static_cast<size_t>(status.st_size), '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(fd.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path);
    if (got == 0) break;  // truncated under us: what is there is what there is
    filled += static_cast<size_t>(got);
  }
  content.resize(filled);
  return content;
}

UniqueFd create_file(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!fd.valid()) throw_file_error("create", path);
  return fd;
}

FileBeside create_file_beside(const fs::path& path, unsigned mode) {
  std::string name = path.string() + ".tmp-XXXXXX";
  UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) throw_file_error("create", name);
  if (::fchmod(fd.get(), mode) != 0) {
    const int why = errno;
    ::unlink(name.c_str());
    errno = why;
    throw_file_error("set the mode of", name);
  }
  return {.path = name, .fd = std::move(fd)};
}

void sync_directory(const fs::path& directory) {
  const UniqueFd fd = open_or_throw(directory, O_RDONLY | O_DIRECTORY);
  if (::fsync(fd.get()) == 0) return;
  if (errno != EINVAL && errno != ENOTSUP) throw_file_error("sync", directory);
  log::warn_once(
      "directories cannot be synced",
      format("{} cannot be synced, because its file system has no such thing ({}): after a "
             "crash of that a name that was there may be gone",
             directory.string(), describe_errno(errno)));
}

void publish_file(const fs::path& written, const fs::path& path) {
  {
    const UniqueFd fd = open_or_throw(written, O_RDONLY);
    if (::fdatasync(fd.get()) != 0) throw_file_error("sync", written);
  }
  if (::rename(written.c_str(), path.c_str()) != 0) throw_file_error("replace", path);
  sync_directory(directory_of(path));
}

void write_file_atomically(const fs::path& path, std::string_view content, unsigned mode) {
  TemporaryFile file(path, mode);
  file.fill(content);
  file.rename_to(path);
  sync_directory(directory_of(path));
}

bool create_file_once(const fs::path& path, std::string_view content, unsigned mode) {
  TemporaryFile file(path, mode);
  file.fill(content);
  const bool created = file.link_to(path);
  if (created) sync_directory(directory_of(path));
  return created;
}

}  // namespace shoal
