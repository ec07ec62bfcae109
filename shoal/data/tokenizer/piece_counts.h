// piece_counts.h -- counts the pieces of a text: all that learning merges needs of it.
//
//   PieceCounts counts = count_pieces({.pattern = Pattern::kGpt2, .threads = 2}, next_chunk);
//
// The counts are the same for any number of threads and any size of chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/tokenizer/split.h"

namespace shoal::data {

class PieceCounts {
 public:
  void add(std::string_view piece, uint64_t times = 1);
  void add_all(const PieceCounts& other);

  [[nodiscard]] size_t size() const { return entries_.size(); }
  [[nodiscard]] std::string_view piece(size_t index) const {
    return std::string_view(bytes_).substr(entries_[index].first, entries_[index].size);
  }
  [[nodiscard]] uint64_t count(size_t index) const { return entries_[index].count; }

 private:
  struct Entry {
    size_t first;  // offset in bytes_
    uint32_t size;
    uint32_t hash;  // lower half of the hash
    uint64_t count;
  };

  void grow();

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(1 << 12);  // index + 1; 0 is empty
};

struct CountOptions {
  Pattern pattern = Pattern::kGpt2;
  // Added tokens: no piece crosses one, and they are not counted.
  std::vector<std::string> separators = {};
  int threads = 1;
};

// Returns the next chunk of the text, empty at its end. Called by one thread at a time.
using NextChunk = std::function<std::string()>;

PieceCounts count_pieces(const CountOptions& options, const NextChunk& next_chunk);

}  // namespace shoal::data
