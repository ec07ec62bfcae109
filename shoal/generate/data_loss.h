// data_loss.h -- a model's loss over prepared tokens.
//
//   DataLoss loss;
//   while (evaluation.next(loss)) {}
//   loss.mean(), loss.perplexity()
//
// Every sample of a split counts once, in file order; the sum over all targets does not depend on
// the batch size.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "shoal/feed/feed.h"
#include "shoal/parallel/parallel_model.h"

namespace shoal::generate {

struct DataLossOptions {
  uint64_t batch = 8;              // samples per batch
  bool separate_documents = true;  // tokens attend only to their own document
};

struct DataLoss {
  double sum = 0;  // sum of cross-entropies, natural logarithm
  uint64_t targets = 0;
  uint64_t samples = 0;

  [[nodiscard]] double mean() const { return sum / static_cast<double>(targets); }
  [[nodiscard]] double perplexity() const { return std::exp(mean()); }
};

class DataEvaluation {
 public:
  // Makes one pass over the first source of a stream, in sequential order. Throws UsageError when
  // the tokens do not fit the model. `model` outlives the evaluation; all of its ranks evaluate
  // together.
  DataEvaluation(parallel::ParallelModel& model,
                 std::shared_ptr<const data::SampleStream> stream,
                 const DataLossOptions& options);

  [[nodiscard]] uint64_t samples() const { return samples_; }

  // Adds the next batch; returns false when there is none.
  bool next(DataLoss& loss);

 private:
  parallel::ParallelModel& model_;
  DataLossOptions options_;
  uint64_t samples_;
  feed::Feed feed_;
};

}  // namespace shoal::generate
