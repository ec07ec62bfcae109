#include "shoal/data/order/sample_order.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "shoal/core/error.h"
#include "shoal/data/order/bijection.h"

namespace shoal::data {
namespace {

// DO NOT CHANGE THE NAMES: they are part of what a resumed run relies on. The source's name comes
// last, so that no name of a source can be taken for one of the others.
Random shard_keys(const OrderOptions& options, uint64_t epoch) {
  return {options.seed, RandomStream::kData, format("epoch {} shards {}", epoch, options.name)};
}

Random window_keys(const OrderOptions& options, uint64_t epoch, uint64_t window) {
  return {options.seed, RandomStream::kData,
          format("epoch {} window {} {}", epoch, window, options.name)};
}

}  // namespace

// One epoch laid out: its shards in order, and where in the epoch each begins.
class SampleOrder::Epoch {
 public:
  Epoch(const std::vector<uint64_t>& samples_per_shard,
        const OrderOptions& options,
        uint64_t number)
      : number_(number) {
    std::vector<size_t> filled;
    for (size_t shard = 0; shard < samples_per_shard.size(); ++shard) {
      if (samples_per_shard[shard] > 0) filled.push_back(shard);
    }
    if (options.kind == OrderKind::kSequential) {
      shards_ = std::move(filled);
    } else {
      const Bijection shuffle(filled.size(), shard_keys(options, number));
      for (uint64_t i = 0; i < filled.size(); ++i) shards_.push_back(filled[shuffle(i)]);
    }
    first_.push_back(0);
    for (const size_t shard : shards_) first_.push_back(first_.back() + samples_per_shard[shard]);
    if (options.kind == OrderKind::kShuffled) lay_windows(options);
  }

  [[nodiscard]] uint64_t number() const { return number_; }

  [[nodiscard]] SamplePlace at(uint64_t index) const {
    const uint64_t position = windows_.empty() ? index : shuffled(index);
    const auto next = std::upper_bound(first_.begin(), first_.end(), position);
    const auto place = static_cast<size_t>(next - first_.begin()) - 1;
    return {shards_[place], position - first_[place], number_};
  }

 private:
  struct Window {
    uint64_t first;  // sample of the epoch
    Bijection shuffle;
  };

  void lay_windows(const OrderOptions& options) {
    const uint64_t width = std::min<uint64_t>(options.window_shards, shards_.size());
    for (uint64_t begin = 0; begin < shards_.size(); begin += width) {
      const uint64_t end = std::min<uint64_t>(begin + width, shards_.size());
      const Random keys = window_keys(options, number_, windows_.size());
      windows_.push_back({first_[begin], Bijection(first_[end] - first_[begin], keys)});
    }
  }

  [[nodiscard]] uint64_t shuffled(uint64_t index) const {
    const auto next = std::upper_bound(
        windows_.begin(), windows_.end(), index,
        [](uint64_t sample, const Window& window) { return sample < window.first; });
    const Window& window = *(next - 1);
    return window.first + window.shuffle(index - window.first);
  }

  uint64_t number_;
  std::vector<size_t> shards_;   // in the order of the epoch, those with samples only
  std::vector<uint64_t> first_;  // of each: its first sample of the epoch; at the end all of them
  std::vector<Window> windows_;  // none if sequential
};

// Readers are at one epoch or across the seam to the next: one place for the even ones, one for the
// odd.
struct SampleOrder::Recent {
  std::mutex mutex;
  std::array<std::shared_ptr<const Epoch>, 2> epochs;
};

SampleOrder::SampleOrder(std::vector<uint64_t> samples_per_shard, OrderOptions options)
    : samples_per_shard_(std::move(samples_per_shard)),
      options_(std::move(options)),
      recent_(std::make_unique<Recent>()) {
  for (const uint64_t samples : samples_per_shard_) {
    if (samples > Bijection::kMaxSize - samples_per_epoch_)
      throw DataError(format("source {}: its {} shards claim more than 2^63 samples", options_.name,
                             samples_per_shard_.size()));
    samples_per_epoch_ += samples;
  }
  if (samples_per_epoch_ == 0)
    throw UsageError(
        format("source {}: no samples in its {} shards; fewer tokens than a sample has?",
               options_.name, samples_per_shard_.size()));
  if (options_.window_shards == 0)
    throw UsageError(format("source {}: a window of 0 shards; must be 1 or more", options_.name));
}

SampleOrder::~SampleOrder() = default;
SampleOrder::SampleOrder(SampleOrder&&) noexcept = default;
SampleOrder& SampleOrder::operator=(SampleOrder&&) noexcept = default;

SamplePlace SampleOrder::at(uint64_t index) const {
  return epoch(index / samples_per_epoch_)->at(index % samples_per_epoch_);
}

// Who comes while an epoch is laid out waits for it: doing the same work beside would not be
// sooner.
std::shared_ptr<const SampleOrder::Epoch> SampleOrder::epoch(uint64_t number) const {
  const std::lock_guard lock(recent_->mutex);
  std::shared_ptr<const Epoch>& kept = recent_->epochs[number % 2];
  if (kept == nullptr || kept->number() != number)
    kept = std::make_shared<const Epoch>(samples_per_shard_, options_, number);
  return kept;
}

}  // namespace shoal::data
