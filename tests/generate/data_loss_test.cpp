#include "shoal/generate/data_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/loader/data_set.h"
#include "tests/model/golden_models.h"
#include "tests/support/error_text.h"

namespace shoal::generate {
namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

constexpr uint32_t kLength = 19;

std::shared_ptr<data::SampleStream> open_stream(const std::filesystem::path& directory,
                                                uint32_t length) {
  return std::make_shared<data::SampleStream>(
      data::StreamOptions{.sources = {{directory, 1}},
                          .sequence_length = length,
                          .order = data::OrderKind::kSequential});
}

class DataLosses : public ::testing::Test {
 protected:
  void write(uint32_t vocabulary, bool mask) {
    data::write_data_set(directory_.path(),
                         {.tokenizer = "t", .vocab_size = vocabulary, .loss_mask = mask},
                         data::random_shards(2, vocabulary, 1));
  }

  [[nodiscard]] DataLoss evaluate(const DataLossOptions& options) const {
    DataEvaluation evaluation(loaded_->model(), open_stream(directory_.path(), kLength), options);
    DataLoss loss;
    while (evaluation.next(loss)) {
    }
    EXPECT_EQ(loss.samples, evaluation.samples());
    return loss;
  }

  // Computes the loss sample by sample, from the logits of every target.
  [[nodiscard]] DataLoss plainly() const {
    const auto stream = open_stream(directory_.path(), kLength);
    DataLoss loss;
    for (uint64_t i = 0; i < stream->source(0).samples_per_epoch(); ++i) {
      std::vector<int32_t> tokens(kLength + 1);
      std::vector<uint8_t> mask(stream->has_loss_mask() ? kLength : 0);
      std::vector<uint32_t> lengths;
      stream->read(i, {tokens, mask, lengths});
      const at::Tensor ids = at::tensor(tokens, at::kInt).to(at::kLong);
      const at::Tensor logs = logits(loaded_->model(), ids.narrow(0, 0, kLength).unsqueeze(0))[0]
                                  .log_softmax(-1)
                                  .gather(1, ids.narrow(0, 1, kLength).unsqueeze(1))
                                  .contiguous();
      for (uint32_t place = 0; place < kLength; ++place) {
        if (!mask.empty() && mask[place] == 0) continue;
        loss.sum -= logs.data_ptr<double>()[place];
        ++loss.targets;
      }
      ++loss.samples;
    }
    return loss;
  }

  TempDir directory_;
  std::unique_ptr<OneRank> loaded_ = load_model(golden_model("gpt2"), at::kDouble);
};

TEST_F(DataLosses, CountEverySampleOnceInBatchesOfAnySize) {
  for (const bool mask : {false, true}) {
    write(61, mask);
    const DataLoss wanted = plainly();
    ASSERT_GT(wanted.samples, 7U);
    for (const uint64_t batch : {1, 3, 7, 100}) {
      const DataLoss found = evaluate({.batch = batch, .separate_documents = false});
      EXPECT_EQ(found.targets, wanted.targets);
      EXPECT_NEAR(found.mean(), wanted.mean(), 1e-10) << batch;
      EXPECT_DOUBLE_EQ(found.perplexity(), std::exp(found.mean()));
    }
    const DataLoss separate = evaluate({.batch = 3});
    EXPECT_EQ(separate.targets, wanted.targets);
    EXPECT_GT(std::abs(separate.mean() - wanted.mean()), 1e-4);
    EXPECT_NEAR(evaluate({.batch = 7}).mean(), separate.mean(), 1e-10);
  }
}

TEST_F(DataLosses, RefuseDataOfAnotherModel) {
  write(62, false);
  EXPECT_THAT(error_text<UsageError>([&] { (void)evaluate({}); }),
              HasSubstr("the data's vocabulary is 62 tokens, the model's only 61"));
  write(61, false);
  EXPECT_THAT(error_text<UsageError>([&] {
                const DataEvaluation evaluation(loaded_->model(),
                                                open_stream(directory_.path(), 32), {});
              }),
              HasSubstr("the sequence length is 32, but the model's context is 31"));
}

}  // namespace
}  // namespace shoal::generate
