// mapped_file.h -- a regular file mapped into memory.
//
//   const MappedFile file("shard-00017.bin");
//   file.advise(MappedFile::Access::kSequential);
//   parse(file.bytes());
//
// The bytes keep their address when the object is moved, and are unmapped when it is destroyed.
//
// A mapping has one danger: when somebody truncates the file, reading behind its new end raises
// SIGBUS, which ends the process. It is right for token files all the same: they are written once
// and renamed into place, they may be larger than memory, and all processes of a node share one
// copy in the page cache. For files that are changed in place, use read_file() in files.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace shoal {

class MappedFile {
 public:
  // How the bytes will be used, as advice to the kernel's read-ahead. kDone: not soon again, so
  // that they need not count as memory of this process; they can still be read.
  enum class Access { kSequential, kRandom, kWillNeed, kDone };

  MappedFile() = default;  // behaves like an empty file

  // Throws DataError when the path cannot be opened or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

  // Passes advice to the kernel. Ranges outside the file are ignored, and so are errors.
  void advise(Access access, size_t offset = 0, size_t size = std::string_view::npos) const;

 private:
  void unmap() noexcept;

  std::string_view bytes_;
};

}  // namespace shoal
