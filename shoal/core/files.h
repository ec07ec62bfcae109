// files.h -- reading whole files with a limit, and writing them so that no reader sees half of one.
//
// Every failure is a DataError that names the path and the reason. Files are created with mode
// 0640.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace shoal {

// Owns a file descriptor and closes it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

constexpr unsigned kFileMode = 0640;

// A DataError of what errno says: "cannot open PATH: No such file or directory (errno 2)".
[[noreturn]] void throw_file_error(const char* verb, const std::filesystem::path& path);

// The whole of a regular file. Larger than max_bytes is an error, checked before anything is
// allocated.
std::string read_file(const std::filesystem::path& path, size_t max_bytes);

// A file, a pipe or standard input ("-") in chunks, for what need not fit into memory.
class ChunkReader {
 public:
  explicit ChunkReader(const std::filesystem::path& path);

  // At most `max_bytes` that come next; empty at the end.
  std::string next(size_t max_bytes);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

// A new, empty file for writing; one that is there is emptied.
UniqueFd create_file(const std::filesystem::path& path);

// The names in it are on the disk: after this a crash cannot undo that one was created or renamed. Where the file system
// has no such thing, a warning says so, once.
void sync_directory(const std::filesystem::path& directory);

// Gives a file that is complete its name: what bears it is on the disk, whole.
void publish_file(const std::filesystem::path& written, const std::filesystem::path& path);

// Replaces `path` in one step: after a crash at any moment a reader finds the old content or the
// new, never a mixture. Temporary file beside it, fdatasync, rename, fsync of the directory.
void write_file_atomically(const std::filesystem::path& path,
                           std::string_view content,
                           unsigned mode = kFileMode);

// Like write_file_atomically, but keeps an existing file. Returns whether this call created it, so
// that of several processes racing to create one file exactly one succeeds and the others read its
// content.
bool create_file_once(const std::filesystem::path& path,
                      std::string_view content,
                      unsigned mode = kFileMode);

}  // namespace shoal
