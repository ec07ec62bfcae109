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

// Throws a DataError with the text of errno: "cannot open PATH: No such file or directory (errno
// 2)".
[[noreturn]] void throw_file_error(const char* verb, const std::filesystem::path& path);

// Returns the content of a regular file. Throws DataError for a file larger than max_bytes, before
// anything is allocated.
std::string read_file(const std::filesystem::path& path, size_t max_bytes);

// Reads a file, a pipe or standard input ("-") in chunks, for input that need not fit into memory.
class ChunkReader {
 public:
  explicit ChunkReader(const std::filesystem::path& path);

  // Returns the next bytes, at most `max_bytes`; empty at the end.
  std::string next(size_t max_bytes);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

// Creates a file for writing; an existing file is truncated.
UniqueFd create_file(const std::filesystem::path& path);

// A new file beside `path` with a name of its own, PATH.tmp-XXXXXX: whoever else writes `path` has
// another one. What a killed process leaves has such a name.
struct FileBeside {
  std::filesystem::path path;
  UniqueFd fd;
};

FileBeside create_file_beside(const std::filesystem::path& path, unsigned mode = kFileMode);

// Makes the names in a directory durable: after this a crash cannot undo that a file was created or
// renamed. On a file system that does not support it, a warning is logged once.
void sync_directory(const std::filesystem::path& directory);

// Makes a complete file durable and renames it to `path`: no crash leaves a part of it under that
// name.
void publish_file(const std::filesystem::path& written, const std::filesystem::path& path);

// Replaces `path` atomically: after a crash at any moment a reader finds the old content or the
// new, never a mixture. Writes a temporary file beside it, then fdatasync, rename, fsync of the
// directory.
void write_file_atomically(const std::filesystem::path& path,
                           std::string_view content,
                           unsigned mode = kFileMode);

// Writes like write_file_atomically, but keeps an existing file. Returns whether this call created
// it: of several processes that race to create one file exactly one succeeds.
bool create_file_once(const std::filesystem::path& path,
                      std::string_view content,
                      unsigned mode = kFileMode);

}  // namespace shoal
