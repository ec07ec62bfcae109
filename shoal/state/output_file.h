// output_file.h -- a new file that is written at any place and made durable by close().
//
//   OutputFile file(directory / "rank-00000-00000.safetensors");
//   file.write_at(0, bytes);
//   file.close();               // synced; without this the file may be torn
//
// Every failure throws a DataError with the file's name: a disk may be full at any call, close()
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "shoal/core/files.h"

namespace shoal::state {

class OutputFile {
 public:
  // Throws DataError for a file that exists: two writers of one file are a mistake.
  explicit OutputFile(std::filesystem::path path);

  // Writes the bytes. Write-back starts as soon as there is enough data, so that close() waits for
  // the rest alone.
  void write_at(uint64_t at, std::span<const std::byte> bytes);
  void write_at(uint64_t at, std::string_view bytes);
  void close();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  uint64_t not_begun_ = 0;  // bytes since write-back was last started
};

}  // namespace shoal::state
