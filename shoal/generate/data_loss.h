// data_loss.h -- a model's loss over prepared tokens.
//
//   DataLoss loss;
//   while (evaluation.next(loss)) {}
//   loss.mean(), loss.perplexity()
//
// Every sample of a split counts once, in the order of the files; the sum over all targets does not
// depend on how many samples make a batch.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "shoal/feed/feed.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

struct DataLossOptions {
  uint64_t batch = 8;              // samples at a time
  bool separate_documents = true;  // tokens see only their own document
};

struct DataLoss {
  double sum = 0;  // of the cross-entropies, natural logarithm
  uint64_t targets = 0;
  uint64_t samples = 0;

  [[nodiscard]] double mean() const { return sum / static_cast<double>(targets); }
  [[nodiscard]] double perplexity() const { return std::exp(mean()); }
};

class DataEvaluation {
 public:
  // One pass over the first source of a stream in sequential order. UsageError when the tokens do not
  // fit the model, which outlives the evaluation; all of its ranks evaluate together.
  DataEvaluation(parallel::ParallelModel& model,
                 std::shared_ptr<const data::SampleStream> stream,
                 const DataLossOptions& options);

  [[nodiscard]] uint64_t samples() const { return samples_; }

  // Adds the next batch; false when there is none.
  bool next(DataLoss& loss);

 private:
  parallel::ParallelModel& model_;
  DataLossOptions options_;
  uint64_t samples_;
  feed::Feed feed_;
};

}  // namespace shoal::generate
