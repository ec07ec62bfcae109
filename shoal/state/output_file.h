// output_file.h -- a new file that is written at any place and ends on the disk.
//
//   OutputFile file(directory / "rank-00000-00000.safetensors");
//   file.write_at(0, bytes);
//   file.close();               // synced; without this the file may be torn
//
// Every failure is a DataError that names the file: a disk may be full at any call, close() too.
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
  // Refuses a file that is there: two writers of one file are a mistake.
  explicit OutputFile(std::filesystem::path path);

  // The disk begins with what was written as soon as there is enough of it, so that close() waits for the rest alone.
  void write_at(uint64_t at, std::span<const std::byte> bytes);
  void write_at(uint64_t at, std::string_view bytes);
  void close();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  uint64_t not_begun_ = 0;  // bytes since the disk was last asked to begin
};

}  // namespace shoal::state
