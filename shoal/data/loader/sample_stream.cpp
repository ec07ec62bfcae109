#include "shoal/data/loader/sample_stream.h"

#include <algorithm>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

namespace shoal::data {
namespace {

std::vector<double> weights_of(const StreamOptions& options) {
  std::vector<double> weights;
  for (const WeightedDirectory& source : options.sources) weights.push_back(source.weight);
  return weights;
}

}  // namespace

SampleStream::SampleStream(const StreamOptions& options)
    : sequence_length_(options.sequence_length), weights_(weights_of(options)), mixture_(weights_) {
  for (const WeightedDirectory& source : options.sources) {
    // By number, not by path: moving a directory must not change the order.
    const OrderOptions order{.kind = options.order,
                             .seed = options.seed,
                             .name = format("source {}", sources_.size()),
                             .window_shards = options.window_shards};
    sources_.push_back(
        std::make_unique<TokenSource>(SourceOptions{.directory = source.directory,
                                                    .split = options.split,
                                                    .sequence_length = options.sequence_length,
                                                    .packing = options.packing,
                                                    .order = order}));
    has_loss_mask_ |= sources_.back()->has_loss_mask();
    const TokenLayout& here = sources_.back()->manifest().layout;
    if (here.tokenizer != layout().tokenizer) {
      throw UsageError(
          format("{} was prepared with another tokenizer than {}: their ids do not mean "
                 "the same",
                 source.directory.string(), options.sources.front().directory.string()));
    }
  }
}

std::string SampleStream::identity() const {
  std::string all;
  for (size_t number = 0; number < sources_.size(); ++number)
    all += format("{} weight {}\n", sources_[number]->identity(), weights_[number]);
  return xxh3_128(all).hex();
}

void SampleStream::read(uint64_t index, const SampleRow& row) const {
  const Mixture::Draw draw = mixture_.at(index);
  const TokenSource& source = *sources_[draw.source];
  SampleRow rest = row;
  if (!source.has_loss_mask()) {
    std::fill(row.loss_mask.begin(), row.loss_mask.end(), 1);
    rest.loss_mask = {};
  }
  source.read(draw.index, rest);
}

}  // namespace shoal::data
