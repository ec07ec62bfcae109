#include "shoal/train/samples.h"

#include "shoal/core/error.h"

namespace shoal::train {
namespace {

data::StreamOptions stream_options(const config::RunConfig& config, data::Split split) {
  const config::DataConfig& data = config.data;
  data::StreamOptions options{
      .split = split,
      .sequence_length = static_cast<uint32_t>(config.model.context),
      .packing = data.packing == config::Packing::kBestFit ? data::PackingKind::kBestFit
                                                           : data::PackingKind::kConcatenate,
      .order = data.order == config::SampleOrder::kShuffled ? data::OrderKind::kShuffled
                                                            : data::OrderKind::kSequential,
      .seed = config.run.seed,
      .window_shards = data.window_shards};
  for (size_t i = 0; i < data.sources.size(); ++i)
    options.sources.push_back({data.sources[i], data.weights.empty() ? 1.0 : data.weights[i]});
  return options;
}

}  // namespace

std::shared_ptr<const data::SampleStream> open_training(const config::RunConfig& config) {
  if (config.data.sources.empty())
    throw UsageError(
        "data.sources is empty: name a directory that `shoal prepare` made, such as "
        "--set data.sources=[tokens]");
  return std::make_shared<data::SampleStream>(stream_options(config, data::Split::kTrain));
}

std::shared_ptr<const data::SampleStream> open_validation(const config::RunConfig& config) {
  data::StreamOptions options = stream_options(config, data::Split::kValidation);
  std::erase_if(options.sources, [&](const data::WeightedDirectory& source) {
    return !data::has_samples(data::read_manifest(source.directory),
                              {.directory = source.directory,
                               .split = options.split,
                               .sequence_length = options.sequence_length,
                               .packing = options.packing});
  });
  if (options.sources.empty()) return nullptr;
  return std::make_shared<data::SampleStream>(options);
}

}  // namespace shoal::train
