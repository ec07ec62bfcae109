#include "shoal/parallel/replica_check.h"

#include <random>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/format.h"
#include "shoal/verify/side.h"

#include "tests/support/flip_bit.h"
#include "tests/support/run_ranks.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::flip_bit;
using Sets = std::vector<std::string>;

constexpr int64_t kSteps = 3;  // trained before bits are flipped
constexpr int kFlips = 6;      // for each layout

config::RunConfig config_of(const Sets& layout, int ranks) {
  Sets sets = {"train.batch=7",      "optimizer.lr=0.01", "optimizer.warmup=2",
               "optimizer.clip=0.5", "model.context=19",  "model.vocab_size=251",
               "model.layers=3",     "model.width=24",    "model.heads=4",
               "model.hidden=44",    "model.dropout=0.1"};
  sets.insert(sets.end(), layout.begin(), layout.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

// Runs `body` on a model of each layout that has been trained.
template <class Body>
void on_layouts(int ranks, const std::vector<Sets>& layouts, const Body& body) {
  tests::run_ranks(ranks,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(me, environment,
                                                          {.backend = config::Backend::kGloo,
                                                           .deadline = 60s,
                                                           .rendezvous = 60s,
                                                           .reuse_groups = true});
                     for (const Sets& layout : layouts) {
                       SCOPED_TRACE(format("{} {}", ranks, layout.front()));
                       const config::RunConfig config = config_of(layout, ranks);
                       const Ranks in_layout(*world, config);
                       verify::Side side(config, in_layout);
                       for (int64_t step = 0; step < kSteps; ++step) {
                         side.gradients_of(step);
                         side.update();
                       }
                       body(*world, in_layout, side);
                     }
                     world->leave();
                   });
}

// Flips random bits of what random ranks hold in common with others, one at a time.
void expect_flips_found(comm::World& world, const Ranks& ranks, verify::Side& side) {
  const ReplicaCheck check(side.model(), ranks);
  EXPECT_THAT(check.differences(world), IsEmpty());
  std::mt19937_64 random(7);
  for (int i = 0; i < kFlips; ++i) {
    const auto victim = static_cast<int>(random() % static_cast<uint64_t>(world.size()));
    const uint64_t draws[] = {random(), random(), random()};
    const std::vector<Copies> all = ReplicaCopies(side.model(), ranks).of(Grain::kWeight);
    ASSERT_FALSE(all.empty());
    const Copies& copies = all[draws[0] % all.size()];
    const Copies::Piece& piece = copies.pieces[draws[1] % copies.pieces.size()];
    const uint64_t bit = draws[2] % (piece.bits.nbytes() * 8);
    if (world.rank() == victim) flip_bit(piece.bits, bit);
    const std::vector<std::string> found = check.differences(world);
    EXPECT_FALSE(found.empty()) << i;
    // With three copies or more the victim is named alone.
    const bool decided = world.rank() == victim && copies.group.size() > 2;
    for (const std::string& line : found)
      EXPECT_THAT(line, HasSubstr(format("{}{} on ", decided ? "rank " : "", victim)))
          << piece.name;
    if (world.rank() == victim) flip_bit(piece.bits, bit);
    EXPECT_THAT(check.differences(world), IsEmpty());
  }
}

TEST(ReplicaCheck, FindsFlippedBitsOnTwoRanks) {
  on_layouts(2,
             {{"parallel.sharding=no_shard"},
              {"parallel.sharding=no_shard", "train.precision=bf16"},
              {"parallel.sharding=no_shard", "optimizer.kind=muon"},
              {"parallel.sharding=optimizer", "train.precision=bf16"},
              {"parallel.tp=2"}},
             expect_flips_found);
}

TEST(ReplicaCheck, FindsFlippedBitsOnThreeRanks) {
  on_layouts(3,
             {{"parallel.sharding=no_shard", "optimizer.kind=sgd"},
              {"parallel.sharding=optimizer"},
              // Widths that are no multiple of a vector: ranks update norms beside other weights.
              {"parallel.tp=3", "model.heads=3", "model.width=30", "model.hidden=45"}},
             expect_flips_found);
}

TEST(ReplicaCheck, FindsFlippedBitsOnSixRanks) {
  on_layouts(6,
             {{"parallel.sharding=hybrid_shard", "parallel.dp_replicate=3", "train.precision=bf16"},
              {"parallel.sharding=no_shard", "parallel.tp=2", "train.micro_batch=2"},
              {"parallel.sharding=no_shard", "parallel.pp=2", "train.micro_batch=2"}},
             expect_flips_found);
}

// The rank is named by its majority, and the flip stays where it is while training goes on.
TEST(ReplicaCheck, NamesTheRankStepsLater) {
  on_layouts(3, {{"parallel.sharding=no_shard"}},
             [](comm::World& world, const Ranks& ranks, verify::Side& side) {
               const plan::Holding holding = side.model().holdings()[5];
               if (world.rank() == 1) flip_bit(side.model().weight_of(holding), 13);
               for (int64_t step = kSteps; step < kSteps + 4; ++step) {
                 side.gradients_of(step);
                 side.update();
               }
               const std::string host = world.hosts()[1];
               EXPECT_THAT(
                   ReplicaCheck(side.model(), ranks).differences(world),
                   ElementsAre(format("rank 1 on {} holds other bits of {} than its replicas 0, 2",
                                      host, holding.weight->name)));
             });
}

TEST(ReplicaCheck, OfTwoReplicasNamesBoth) {
  on_layouts(2, {{"parallel.sharding=no_shard"}},
             [](comm::World& world, const Ranks& ranks, verify::Side& side) {
               if (world.rank() == 1)
                 flip_bit(side.model().optimizer().unit_states()[0].first_moment, 3);
               EXPECT_THAT(ReplicaCheck(side.model(), ranks).differences(world),
                           ElementsAre(AllOf(HasSubstr("ranks 0 on "), HasSubstr(", 1 on "),
                                             HasSubstr("different bits of the first moment of "),
                                             HasSubstr("cannot be known"))));
             });
}

// Sums in another order at both ends of a pipeline, and parts of unequal size, are no damage.
TEST(ReplicaCheck, FindsNothingWhereNothingIsWrong) {
  on_layouts(6,
             {{"parallel.sharding=no_shard", "parallel.tp=2", "model.heads=3", "model.hidden=41"},
              {"parallel.sharding=full_shard", "parallel.tp=2", "model.heads=3", "model.hidden=41"},
              {"parallel.sharding=no_shard", "parallel.pp=2", "model.tied=true"},
              {"parallel.sharding=shard_grad_op", "parallel.pp=3"}},
             [](comm::World& world, const Ranks& ranks, verify::Side& side) {
               EXPECT_THAT(ReplicaCheck(side.model(), ranks).differences(world), IsEmpty());
             });
}

TEST(ReplicaCheck, TheMajorityIsRight) {
  EXPECT_THAT(difference_of("w", {1, 5, 9}, {7, 7, 7}), IsEmpty());
  EXPECT_THAT(difference_of("w", {1, 5, 9}, {7, -8, 7}), ElementsAre(Difference{"w", {5}, {1, 9}}));
  EXPECT_THAT(difference_of("w", {1, 5}, {7, 8}), ElementsAre(Difference{"w", {1, 5}, {}}));
  EXPECT_THAT(difference_of("w", {0, 1, 2, 3}, {7, 8, 7, 8}),
              ElementsAre(Difference{"w", {0, 1, 2, 3}, {}}));
  EXPECT_THAT(difference_of("w", {0, 1, 2, 3, 4}, {7, 8, 7, 9, 7}),
              ElementsAre(Difference{"w", {1, 3}, {0, 2, 4}}));
}

}  // namespace
}  // namespace shoal::parallel
