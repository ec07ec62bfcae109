// sample_stream.h -- the samples of a run: several sources, mixed by weight.
//
//   SampleStream stream({.sources = {{"tokens/web", 0.7}, {"tokens/books", 0.3}}, .seed = 1});
//   stream.read(index, row);
//
// The sample at an index is a pure function of the index, the seed and the manifests: it does not
// depend on who asks, how many ranks there are, or what was read before. So a run's place in its
// data is one number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shoal/data/loader/token_source.h"
#include "shoal/data/order/mixture.h"

namespace shoal::data {

struct WeightedDirectory {
  std::filesystem::path directory;
  double weight = 1;
};

struct StreamOptions {
  std::vector<WeightedDirectory> sources;
  Split split = Split::kTrain;
  uint32_t sequence_length = 1024;
  PackingKind packing = PackingKind::kConcatenate;
  OrderKind order = OrderKind::kShuffled;
  uint64_t seed = 0;
  uint64_t window_shards = 64;
};

class SampleStream {
 public:
  // Throws UsageError when the sources were made with different tokenizers.
  explicit SampleStream(const StreamOptions& options);

  [[nodiscard]] uint32_t sequence_length() const { return sequence_length_; }
  [[nodiscard]] const TokenLayout& layout() const { return sources_.front()->manifest().layout; }
  [[nodiscard]] size_t sources() const { return sources_.size(); }
  [[nodiscard]] const TokenSource& source(size_t number) const { return *sources_[number]; }

  // Returns whether any target is masked out of the loss.
  [[nodiscard]] bool has_loss_mask() const { return has_loss_mask_; }

  // Returns how many of the first `samples` samples come from a source: exact, in closed form.
  [[nodiscard]] uint64_t drawn_from(size_t source, uint64_t samples) const {
    return mixture_.count_before(source, samples);
  }

  // Returns a hash of everything that decides the samples: a run must not resume with other data
  // unnoticed.
  [[nodiscard]] std::string identity() const;

  void read(uint64_t index, const SampleRow& row) const;

 private:
  uint32_t sequence_length_;
  bool has_loss_mask_ = false;
  std::vector<double> weights_;
  Mixture mixture_;
  std::vector<std::unique_ptr<TokenSource>> sources_;
};

}  // namespace shoal::data
