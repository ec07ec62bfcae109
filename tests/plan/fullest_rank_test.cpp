#include "shoal/plan/fullest_rank.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/format.h"
#include "shoal/plan/layout.h"

namespace shoal::plan {
namespace {

config::RunConfig job(int batch, int ranks, const std::string& sharding, int pp, int tp) {
  return config::load_or_throw(
      {.sets = {"model.layers=5", "model.width=96", "model.heads=6", "model.context=61",
                "model.vocab_size=499", format("train.batch={}", batch), "train.micro_batch=2",
                format("parallel.sharding={}", sharding), format("parallel.pp={}", pp),
                format("parallel.tp={}", tp)},
       .job = config::JobSize{.ranks = ranks}});
}

// Nothing is said to fit that does not: with 23 rows on 7 ranks some have 3 and others 4.
TEST(FullestRank, NoRankNeedsMore) {
  for (const int batch : {7, 16, 23, 24}) {
    for (const std::string sharding : {"no_shard", "optimizer", "full_shard"}) {
      for (const auto& [data, pp, tp] :
           {std::tuple(7, 1, 1), std::tuple(3, 2, 1), std::tuple(5, 1, 2), std::tuple(2, 3, 2)}) {
        const int ranks = data * pp * tp;
        const config::RunConfig config = job(batch, ranks, sharding, pp, tp);
        const PlannedJob planned(config, mesh_of(config.parallel, ranks));
        int64_t most = 0;
        for (int number = 0; number < ranks; ++number) {
          const PlannedRank rank = planned.rank(number);
          most = std::max(most, memory_of(rank.plan, rank.program).peak());
        }
        EXPECT_EQ(fullest_rank(planned).memory.peak(), most)
            << batch << " rows, " << sharding << ", " << data << " x " << pp << " x " << tp;
      }
    }
  }
}

}  // namespace
}  // namespace shoal::plan
