// loader.h -- batches for one rank, read ahead by threads of its own.
//
//   Loader loader(stream, {.global_batch = 512, .rank = 3, .world_size = 8, .first_sample = cursor});
//   const Batch& batch = loader.next();
//
// Step s of the run is samples [s, s + 1) * global_batch of the stream; rank r of w has the r-th of
// w slices of them. All slices together are the same samples for any number of ranks, and the only
// state to save is the number of the next sample. In steady state nothing is allocated.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "shoal/core/activity.h"
#include "shoal/data/loader/sample_stream.h"

namespace shoal::data {

// The samples of one rank in one step. Row i of `tokens` is sequence_length inputs and one more
// token: the targets begin at its second token.
struct Batch {
  uint64_t first_sample = 0;  // first sample of the step, over all ranks
  size_t rows = 0;
  std::span<int32_t> tokens;               // rows x (sequence_length + 1)
  std::span<uint8_t> loss_mask;            // rows x sequence_length; empty: no target is masked
  std::vector<uint32_t> document_lengths;  // row after row; each row's add up to sequence_length
};

struct LoaderOptions {
  uint64_t global_batch = 1;  // samples per step, over all ranks
  int rank = 0;               // rank among those that read different samples
  int world_size = 1;
  uint64_t first_sample = 0;  // where to begin
  int threads = 1;
  int ahead = 2;                   // batches to read ahead, at least `threads`
  ActivityBoard* board = nullptr;  // where the threads say what they read; outlives the loader
};

class Loader {
 public:
  // The threads share `stream`. Throws UsageError when there are more ranks than samples in a step.
  Loader(std::shared_ptr<const SampleStream> stream, const LoaderOptions& options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  // Waits for the next batch, which is valid until the next call. Throws the DataError that
  // occurred when it was read.
  const Batch& next();

  // Returns the first sample that no next() has returned yet: what to save, and to resume with.
  [[nodiscard]] uint64_t next_sample() const;

 private:
  struct Slot {
    Batch batch;
    std::shared_ptr<std::byte[]> memory;
    uint64_t ready_for = 0;  // step it is filled with, plus one
    std::exception_ptr error;
  };

  void work();
  void fill(Slot& slot, uint64_t step) const;

  const std::shared_ptr<const SampleStream> stream_;
  const LoaderOptions options_;
  std::vector<Slot> slots_;

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable freed_;
  uint64_t next_to_fill_ = 0;
  uint64_t handed_out_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace shoal::data
