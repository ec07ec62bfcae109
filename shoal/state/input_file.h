// input_file.h -- a file of known size, read at any place.
//
// The file is read, not mapped: if it is truncated meanwhile, reading throws instead of raising
// SIGBUS. Links are not followed, and only regular files are opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "shoal/core/files.h"

namespace shoal::state {

class InputFile {
 public:
  InputFile(std::filesystem::path path, uint64_t bytes);

  void read_at(uint64_t at, std::span<std::byte> out) const;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace shoal::state
