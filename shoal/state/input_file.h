// input_file.h -- a file that is read at any place, and has the size it must have.
//
// Read, not mapped: one that is cut short meanwhile is an error here, not the end. Links are not followed,
// and nothing but regular files is opened.
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
