// sample_order.h -- the order in which the samples of one source are seen.
//
//   const SampleOrder order(samples_per_shard, {.seed = 1, .name = "web"});
//   const SamplePlace place = order.at(index);   // {shard, sample of the shard, epoch}
//
// The order is a pure function of the options, the counts and the index, which continues through
// the epochs: epoch e is [e, e + 1) * samples_per_epoch(), and has every sample once. There is
// nothing to save but the index, nothing to replay, and any number of ranks and workers can compute
// their own.
//
// Shuffled order has two levels. Each epoch permutes the shards and cuts that order into windows of
// window_shards; each window permutes the samples of all its shards. So only the shards of one
// window are in use at a time, of two at the border: with shards of 64 MB, 64 of them are 4 GB for
// the page cache to hold, and each is mapped and its checksum read once per epoch. A batch still
// mixes 64 shards from anywhere in the source, other ones in each epoch. A window of all shards
// gives up the locality for a uniform shuffle.
//
// Entering an epoch takes time and memory in proportion to the number of shards, about 1 ms for
// 31,250 of them (10^12 tokens); an even and an odd epoch are kept, for readers on both sides of a
// border. Share freely between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal::data {

enum class OrderKind {
  kShuffled,
  kSequential,  // shard by shard, sample by sample, every epoch alike
};

struct OrderOptions {
  OrderKind kind = OrderKind::kShuffled;
  uint64_t seed = 0;
  std::string name;             // name of the source: two sources do not share an order
  uint64_t window_shards = 64;  // more mix better, fewer are easier on memory and disk
};

struct SamplePlace {
  size_t shard = 0;
  uint64_t sample = 0;  // sample within the shard
  uint64_t epoch = 0;

  bool operator==(const SamplePlace&) const = default;
};

class SampleOrder {
 public:
  // Shards without samples change nothing. Throws UsageError if no shard has any or window_shards
  // is 0, DataError if there are more than 2^63 samples.
  SampleOrder(std::vector<uint64_t> samples_per_shard, OrderOptions options);
  ~SampleOrder();
  SampleOrder(SampleOrder&&) noexcept;
  SampleOrder& operator=(SampleOrder&&) noexcept;

  [[nodiscard]] uint64_t samples_per_epoch() const { return samples_per_epoch_; }
  [[nodiscard]] SamplePlace at(uint64_t index) const;

 private:
  class Epoch;
  struct Recent;

  [[nodiscard]] std::shared_ptr<const Epoch> epoch(uint64_t number) const;

  std::vector<uint64_t> samples_per_shard_;
  OrderOptions options_;
  uint64_t samples_per_epoch_ = 0;
  std::unique_ptr<Recent> recent_;
};

}  // namespace shoal::data
