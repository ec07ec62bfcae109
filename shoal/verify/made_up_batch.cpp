#include "shoal/verify/made_up_batch.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/random.h"

namespace shoal::verify {
namespace {

constexpr double kTargetsThatCount = 0.9;

// Draws document lengths that sum to `length`.
void cut_into_documents(const Random& random,
                        uint64_t sample,
                        int64_t length,
                        std::vector<uint32_t>& lengths) {
  uint64_t draw = sample * static_cast<uint64_t>(length);
  for (int64_t left = length; left > 0;) {
    const auto wanted = static_cast<int64_t>(random.uniform(draw++) * static_cast<float>(length));
    const int64_t document = std::clamp<int64_t>(wanted, 1, left);
    lengths.push_back(static_cast<uint32_t>(document));
    left -= document;
  }
}

}  // namespace

feed::TokenBatch made_up_batch(const MadeUpSamples& samples, uint64_t first, int64_t rows) {
  const auto numbers = [&](const char* name, int64_t columns) {
    at::Tensor uniform = at::empty({rows, columns}, at::kFloat);
    Random(samples.seed, RandomStream::kCheck, name)
        .fill_uniform({uniform.data_ptr<float>(), static_cast<size_t>(uniform.numel())},
                      first * static_cast<uint64_t>(columns));
    return uniform;
  };
  feed::TokenBatch batch{.first_sample = first, .first_row = first};
  batch.tokens = numbers("verify.tokens", samples.length + 1)
                     .mul_(static_cast<double>(samples.classes))
                     .floor_()
                     .to(at::kInt);
  batch.loss_mask = numbers("verify.mask", samples.length).lt(kTargetsThatCount).to(at::kByte);
  const Random random(samples.seed, RandomStream::kCheck, "verify.documents");
  for (int64_t row = 0; row < rows; ++row)
    cut_into_documents(random, first + static_cast<uint64_t>(row), samples.length,
                       batch.document_lengths);
  return batch;
}

}  // namespace shoal::verify
