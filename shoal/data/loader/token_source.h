// token_source.h -- the samples of one prepared directory, in their order.
//
//   TokenSource web({.directory = "tokens/web", .sequence_length = 1024, .order = {.seed = 1}});
//   web.read(index, row);
//
// A sample is `sequence_length` inputs and as many targets, each the token after its input: one
// token more than the length. Concatenated, sample s of a shard is tokens [s * length, s * length +
// length], so that its last target is the next one's first input; the rest at the end of a shard is
// less than a sample and is not used. Packed, it is a sequence that `shoal prepare --pack LENGTH`
// has counted: whole documents, padded. The first token of a document is not a target there: the
// token before it belongs to an unrelated document.
//
// Share freely between threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "shoal/data/order/sample_order.h"
#include "shoal/data/shards/manifest.h"

namespace shoal::data {

enum class PackingKind {
  kConcatenate,  // documents end to end, cut every sequence_length tokens
  kBestFit,      // as few documents cut as possible
};

struct SourceOptions {
  std::filesystem::path directory;
  Split split = Split::kTrain;
  uint32_t sequence_length = 1024;
  PackingKind packing = PackingKind::kConcatenate;
  OrderOptions order;
};

// The memory that a sample is read into.
struct SampleRow {
  std::span<int32_t> tokens;  // sequence_length + 1
  // sequence_length elements, 1 for targets in the loss; empty if no target is masked.
  std::span<uint8_t> loss_mask;
  std::vector<uint32_t>& document_lengths;  // appended; they add up to sequence_length
};

// Returns whether a split of a directory has any sample. Throws UsageError when it was not packed
// for that length.
bool has_samples(const Manifest& manifest, const SourceOptions& options);

class TokenSource {
 public:
  // Throws DataError for an incomplete directory, UsageError when it has no sample of that length.
  explicit TokenSource(const SourceOptions& options);
  ~TokenSource();

  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  [[nodiscard]] bool has_loss_mask() const {
    return manifest_.layout.loss_mask || options_.packing == PackingKind::kBestFit;
  }
  [[nodiscard]] uint64_t samples_per_epoch() const { return order_->samples_per_epoch(); }

  // Returns a text with everything that decides the samples and their order.
  [[nodiscard]] std::string identity() const;

  // Reads sample `index` of the order, which continues through the epochs.
  void read(uint64_t index, const SampleRow& row) const;

 private:
  struct OpenShard;
  class OpenShards;

  [[nodiscard]] std::vector<uint64_t> samples_per_shard() const;
  void read_concatenated(const OpenShard& shard, uint64_t sample, const SampleRow& row) const;
  void read_packed(const OpenShard& shard, uint64_t sample, const SampleRow& row) const;

  SourceOptions options_;
  Manifest manifest_;
  std::unique_ptr<SampleOrder> order_;
  std::unique_ptr<OpenShards> open_;
};

}  // namespace shoal::data
