#include "shoal/data/loader/token_source.h"

#include <algorithm>
#include <list>
#include <map>

#include "shoal/core/activity.h"
#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/data/order/packing.h"
#include "shoal/data/shards/token_shard.h"

namespace shoal::data {
namespace {

// A seam of two windows, and some for readers that are ahead.
constexpr uint64_t kMoreThanAWindow = 8;

std::vector<uint64_t> samples_per_shard(const Manifest& manifest, const SourceOptions& options) {
  const uint64_t length = options.sequence_length;
  std::vector<uint64_t> samples;
  for (const ShardEntry& shard : manifest.of(options.split).shards) {
    if (options.packing == PackingKind::kBestFit) {
      const auto packed = shard.packed.find(options.sequence_length);
      if (packed == shard.packed.end())
        throw UsageError(
            format("{} was not packed for sequences of {}: run shoal prepare with "
                   "--pack {}",
                   options.directory.string(), length, length));
      samples.push_back(packed->second);
    } else {
      samples.push_back(shard.tokens == 0 ? 0 : (shard.tokens - 1) / length);
    }
  }
  return samples;
}

}  // namespace

struct TokenSource::OpenShard {
  TokenShard tokens;
  Packing packing;
};

// The shards in use; those that were not asked for longest are closed first.
class TokenSource::OpenShards {
 public:
  explicit OpenShards(size_t most) : most_(most) {}

  template <class Open>
  std::shared_ptr<const OpenShard> get(size_t number, Open open) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(number);
    if (found != places_.end()) {
      shards_.splice(shards_.begin(), shards_, found->second);
      return shards_.front().second;
    }
    if (shards_.size() == most_) {
      places_.erase(shards_.back().first);
      shards_.pop_back();
    }
    shards_.emplace_front(number, open());
    places_[number] = shards_.begin();
    return shards_.front().second;
  }

 private:
  using Shards = std::list<std::pair<size_t, std::shared_ptr<const OpenShard>>>;

  const size_t most_;
  std::mutex mutex_;
  Shards shards_;  // the one used last in front
  std::map<size_t, Shards::iterator> places_;
};

TokenSource::TokenSource(const SourceOptions& options)
    : options_(options),
      manifest_(read_manifest(options.directory)),
      order_(std::make_unique<SampleOrder>(samples_per_shard(), options.order)),
      open_(std::make_unique<OpenShards>(
          std::min<uint64_t>(
              options.order.kind == OrderKind::kSequential ? 2 : options.order.window_shards,
              manifest_.of(options.split).shards.size()) +
          kMoreThanAWindow)) {}

TokenSource::~TokenSource() = default;

bool has_samples(const Manifest& manifest, const SourceOptions& options) {
  const std::vector<uint64_t> samples = samples_per_shard(manifest, options);
  return std::any_of(samples.begin(), samples.end(), [](uint64_t count) { return count > 0; });
}

std::vector<uint64_t> TokenSource::samples_per_shard() const {
  const uint64_t length = options_.sequence_length;
  std::vector<uint64_t> samples = data::samples_per_shard(manifest_, options_);
  if (!has_samples(manifest_, options_)) {
    throw UsageError(
        format("{} has {} {} tokens, in no shard enough for a sample of {}: make the "
               "sequence shorter or the corpus longer",
               options_.directory.string(), manifest_.of(options_.split).tokens,
               split_name(options_.split), length));
  }
  return samples;
}

std::string TokenSource::identity() const {
  return format("{} {} length {} packing {} order {} seed {} window {} name {}", manifest_.digest,
                split_name(options_.split), options_.sequence_length,
                static_cast<int>(options_.packing), static_cast<int>(options_.order.kind),
                options_.order.seed, options_.order.window_shards, options_.order.name);
}

void TokenSource::read(uint64_t index, const SampleRow& row) const {
  SHOAL_CHECK(row.tokens.size() == options_.sequence_length + 1 &&
                  row.loss_mask.size() == (has_loss_mask() ? options_.sequence_length : 0),
              "a row of {} tokens for samples of {}", row.tokens.size(), options_.sequence_length);
  const SamplePlace place = order_->at(index);
  const Activity doing(
      Activity::is_seen()
          ? format("reads {}", manifest_.of(options_.split).shards[place.shard].file)
          : std::string());
  const auto shard = open_->get(place.shard, [&] {
    const ShardEntry& entry = manifest_.of(options_.split).shards[place.shard];
    TokenShard tokens(options_.directory, options_.split, manifest_.layout, entry);
    Packing packing;
    if (options_.packing == PackingKind::kBestFit) {
      packing = pack_best_fit(tokens.document_ends(), options_.sequence_length + 1);
      const uint64_t counted = entry.packed.at(options_.sequence_length);
      if (packing.sequence_ends.size() != counted)
        throw DataError(
            format("{} packs into {} sequences, but was prepared with {}: prepare it "
                   "again with this version",
                   entry.file, packing.sequence_ends.size(), counted));
    }
    return std::make_shared<const OpenShard>(OpenShard{std::move(tokens), std::move(packing)});
  });
  if (options_.packing == PackingKind::kConcatenate) {
    read_concatenated(*shard, place.sample, row);
  } else {
    read_packed(*shard, place.sample, row);
  }
}

void TokenSource::read_concatenated(const OpenShard& shard,
                                    uint64_t sample,
                                    const SampleRow& row) const {
  const uint64_t first = sample * options_.sequence_length;
  shard.tokens.copy(first, row.tokens);
  if (has_loss_mask()) shard.tokens.copy_mask(first + 1, row.loss_mask);
  shard.tokens.append_document_lengths(first, options_.sequence_length, row.document_lengths);
}

void TokenSource::read_packed(const OpenShard& shard, uint64_t sample, const SampleRow& row) const {
  const Packing& packing = shard.packing;
  const size_t begin = sample == 0 ? 0 : packing.sequence_ends[sample - 1];
  size_t filled = 0;
  for (size_t number = begin; number < packing.sequence_ends[sample]; ++number) {
    const Segment& segment = packing.segments[number];
    shard.tokens.copy(segment.first, row.tokens.subspan(filled, segment.length));
    // The mask belongs to targets: token t + 1 is the target of input t, and the first of a document is nobody's.
    if (filled > 0) row.loss_mask[filled - 1] = 0;
    shard.tokens.copy_mask(segment.first + 1, row.loss_mask.subspan(filled, segment.length - 1));
    filled += segment.length;
    const size_t inputs = std::min<size_t>(filled, options_.sequence_length);
    const size_t length = inputs - (filled - segment.length);
    if (length > 0) row.document_lengths.push_back(static_cast<uint32_t>(length));
  }
  const size_t empty = row.tokens.size() - filled;
  if (empty == 0) return;
  std::fill(row.tokens.end() - static_cast<ptrdiff_t>(empty), row.tokens.end(),
            static_cast<int32_t>(manifest_.layout.end_of_document.value_or(0)));
  std::fill(row.loss_mask.end() - static_cast<ptrdiff_t>(empty), row.loss_mask.end(), 0);
  // Inputs that are padding are a document of their own.
  if (filled < options_.sequence_length)
    row.document_lengths.push_back(options_.sequence_length - static_cast<uint32_t>(filled));
}

}  // namespace shoal::data
