#include "shoal/config/tensor_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::config {
namespace {

using ::testing::Eq;
using ::testing::Optional;

TEST(TensorParallel, SplitsWhatHasAHeadForEveryRank) {
  for (const int tp : {1, 2, 3, 4, 5, 7, 12})
    EXPECT_EQ(why_not_tensor_parallel({.heads = 12, .vocab_size = 50'257}, tp), std::nullopt) << tp;
  for (const int tp : {1, 2, 4, 6, 12})
    EXPECT_EQ(why_not_tensor_parallel({.heads = 12, .kv_heads = 2}, tp), std::nullopt) << tp;
  EXPECT_EQ(why_not_tensor_parallel({.heads = 12, .kv_heads = 4, .qk_norm = QkNorm::kWidth}, 3),
            std::nullopt);
}

TEST(TensorParallel, TellsWhyNotAndWhatToDo) {
  EXPECT_THAT(why_not_tensor_parallel({.heads = 3}, 4),
              Optional(Eq("model.heads = 3 is less than parallel.tp = 4: choose a tp of at most "
                          "3")));
  EXPECT_THAT(why_not_tensor_parallel({.heads = 12, .kv_heads = 3}, 4),
              Optional(Eq("model.kv_heads = 3 is less than parallel.tp = 4 and does not divide it: "
                          "choose a tp of at most 3, or a multiple of it")));
  EXPECT_THAT(
      why_not_tensor_parallel({.heads = 12, .kv_heads = 2, .qk_norm = QkNorm::kWidth}, 4),
      Optional(Eq("model.qk_norm: width normalizes all keys together, but with model.kv_heads = 2 "
                  "several of the parallel.tp = 4 ranks have the same ones: choose a tp of at most "
                  "2")));
  EXPECT_THAT(why_not_tensor_parallel({.heads = 12, .vocab_size = 7}, 8),
              Optional(Eq("model.vocab_size = 7 is less than parallel.tp = 8: choose a tp of at "
                          "most 7")));
}

}  // namespace
}  // namespace shoal::config
