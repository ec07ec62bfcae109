// feed.h -- batches as tensors, on every rank that needs them.
//
//   Feed feed(stream, loading, {.device = device, .peers = tensor_parallel, .read = Read::kLeader});
//   const TokenBatch batch = feed.next();
//
// Ranks of one tensor-parallel group, or of all groups that share a slice of the data, need the same
// batch. With kEveryRank each reads it by itself: nothing is sent, and the node's page cache is shared
// anyway. With kLeader the first rank of `peers` reads and sends to the others: for file systems that
// suffer from many readers. The batches are the same either way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/comm/group.h"
#include "shoal/data/loader/loader.h"

namespace shoal::feed {

enum class Read { kEveryRank, kLeader };

struct FeedOptions {
  c10::Device device = c10::Device(c10::kCPU);
  std::optional<comm::Group> peers = std::nullopt;  // those that need the same batches
  Read read = Read::kEveryRank;
};

// A step's samples of these ranks. On the CPU the tensors show the loader's memory, until the next call.
struct TokenBatch {
  uint64_t first_sample = 0;  // of the step, of all ranks
  uint64_t first_row = 0;     // the sample that is row 0 here
  at::Tensor tokens;          // int32, rows x (sequence_length + 1)
  at::Tensor loss_mask;       // uint8, rows x sequence_length; undefined: all targets count
  std::vector<uint32_t> document_lengths;  // row after row
};

class Feed {
 public:
  // `loading` is the same on all peers, its rank and world size those of their slice of the data. Memory
  // for batches is pinned when the device is not the CPU.
  Feed(std::shared_ptr<const data::SampleStream> stream,
       data::LoaderOptions loading,
       const FeedOptions& options);
  ~Feed();

  // Collective over the peers with kLeader. A DataError of the leader is thrown on all of them.
  TokenBatch next();

  [[nodiscard]] uint64_t next_sample() const { return next_sample_; }

 private:
  struct Message;

  TokenBatch read_here();
  TokenBatch receive();

  FeedOptions options_;
  int64_t length_;
  bool has_loss_mask_;
  uint64_t next_sample_;
  uint64_t global_batch_;
  uint64_t slice_begin_;                  // of these ranks' samples in a step
  std::unique_ptr<data::Loader> loader_;  // only where batches are read
  std::unique_ptr<Message> message_;      // only where they are sent
};

}  // namespace shoal::feed
