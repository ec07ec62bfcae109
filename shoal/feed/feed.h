// feed.h -- batches as tensors, on every rank that needs them; micro_batches.h makes passes of them.
//
//   Feed feed(stream, loading, {.device = device, .peers = tensor_parallel});
//   const TokenBatch batch = feed.next();
//
// Ranks of one tensor-parallel group, and of all groups that share a slice of the data, need the
// same batch. Without peers each rank reads it by itself: nothing is sent, and the node's page cache
// is shared anyway. With them the first one reads the batch and sends it to the others: for file
// systems that suffer from many readers. The batches are the same either way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/comm/group.h"
#include "shoal/data/loader/loader.h"

namespace shoal::feed {

struct FeedOptions {
  c10::Device device = c10::Device(c10::kCPU);
  std::optional<comm::Group> peers = std::nullopt;  // ranks for which the first of them reads
};

// The samples of one step for these ranks. On the CPU the tensors are views of the loader's memory,
// valid until the next call.
struct TokenBatch {
  uint64_t first_sample = 0;  // first sample of the step, over all ranks
  uint64_t first_row = 0;     // number of the sample in row 0
  at::Tensor tokens;          // int32, rows x (sequence_length + 1)
  at::Tensor loss_mask;       // uint8, rows x sequence_length; undefined: no target is masked
  std::vector<uint32_t> document_lengths;  // row after row
};

class Feed {
 public:
  // `loading` is the same on all peers; its rank and world size are those of their slice of the
  // data.
  Feed(std::shared_ptr<const data::SampleStream> stream,
       data::LoaderOptions loading,
       const FeedOptions& options);
  ~Feed();

  // Returns the next batch; collective over the peers. A DataError of the leader is
  // thrown on all of them.
  TokenBatch next();

  [[nodiscard]] uint64_t next_sample() const { return next_sample_; }

 private:
  struct Message;

  const data::Batch& loaded();
  TokenBatch read_here();
  TokenBatch receive();

  FeedOptions options_;
  int64_t length_;
  bool has_loss_mask_;
  uint64_t next_sample_;
  uint64_t global_batch_;
  uint64_t slice_begin_;                  // where these ranks' samples begin in a step
  std::unique_ptr<data::Loader> loader_;  // only on ranks that read batches
  std::unique_ptr<Message> message_;      // only on ranks that send or receive batches
};

}  // namespace shoal::feed
