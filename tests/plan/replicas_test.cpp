// Whoever is lost and whoever is there: the next round has every part of the state.

#include "shoal/plan/replicas.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/sharding.h"

namespace shoal::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Sets = std::vector<std::string>;

config::RunConfig config_of(const Sets& sets, int ranks) {
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

cluster::Round round_of(std::vector<int> seats) { return {.number = 0, .seats = std::move(seats)}; }

cluster::RoundEnd left(const std::vector<int>& seats, int64_t step) {
  cluster::RoundEnd end;
  for (const int seat : seats) end.reports.push_back({seat, step});
  return end;
}

const Sets kHybrid = {"parallel.sharding=hybrid_shard", "parallel.dp_replicate=2"};

TEST(Replicas, TheWholeOneGoesOn) {
  const config::RunConfig config = config_of(kHybrid, 4);
  EXPECT_TRUE(has_replicas(config.parallel, 4));
  const cluster::RoundDecision next =
      without_lost_replicas(config, 4, round_of({0, 1, 2, 3}), left({0, 1, 2}, 41));
  EXPECT_THAT(next.seats, ElementsAre(0, 1));
  EXPECT_EQ(next.step, 41);
  const config::ParallelConfig parallel = replicas_left(config.parallel, 4, 2);
  EXPECT_EQ(parallel.dp_replicate, 1);
  EXPECT_EQ(parallel.dp_shard, 2);
  EXPECT_EQ(parallel.sharding, config::Sharding::kFullShard);
}

TEST(Replicas, TheFirstRankStaysAndIsCompleted) {
  const cluster::RoundDecision next =
      without_lost_replicas(config_of(kHybrid, 4), 4, round_of({0, 1, 2, 3}), left({0, 2, 3}, 41));
  EXPECT_THAT(next.seats, ElementsAre(0, 3)) << "3 has the shard of 1";
}

TEST(Replicas, ComeBackToTheirPlace) {
  cluster::RoundEnd end = left({0, 1}, 50);
  end.waiting = {2, 3};
  const cluster::RoundDecision next =
      without_lost_replicas(config_of(kHybrid, 4), 4, round_of({0, 1}), end);
  EXPECT_THAT(next.seats, ElementsAre(0, 1, 2, 3));
}

TEST(Replicas, AStepThatOnlySomeHaveFinishedIsTakenAgain) {
  cluster::RoundEnd end = left({0, 1, 3}, 41);
  end.reports[0].step = 42;
  const cluster::RoundDecision next =
      without_lost_replicas(config_of(kHybrid, 4), 4, round_of({0, 1, 2, 3}), end);
  EXPECT_TRUE(next.seats.empty()) << "42 is there of one shard, 41 of the other";
  EXPECT_THAT(next.why, HasSubstr("no step is whole"));
}

// Rank 1 is lost between the last reduction of gradients and the norm, which is that of each replica: rank 0 cannot
// finish the step, and the other replica can.
TEST(Replicas, RankZeroTakesTheStateOfARankThatIsLeftOut) {
  cluster::RoundEnd end = left({0, 2, 3}, 42);
  for (const std::optional<int64_t> behind :
       {std::optional<int64_t>(41), std::optional<int64_t>()}) {
    end.reports[0].step = behind;
    const cluster::RoundDecision next =
        without_lost_replicas(config_of(kHybrid, 4), 4, round_of({0, 1, 2, 3}), end);
    EXPECT_THAT(next.seats, ElementsAre(0, 3));
    EXPECT_EQ(next.step, 42);
    ASSERT_EQ(next.transfers.size(), 1U);
    EXPECT_EQ(next.transfers[0].from, 2);
    EXPECT_EQ(next.transfers[0].to, 0);
  }
}

TEST(Replicas, OneCopyCannotLoseARank) {
  EXPECT_FALSE(has_replicas(config_of({"parallel.sharding=full_shard"}, 4).parallel, 4));
  EXPECT_FALSE(has_replicas(config_of({"parallel.tp=2", "parallel.pp=2"}, 4).parallel, 4));
  EXPECT_TRUE(has_replicas(config_of({"parallel.sharding=no_shard"}, 4).parallel, 4));
}

class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool one_in(int count) { return below(count) == 0; }

 private:
  std::minstd_rand random_;
};

// A layout, some of whose seats are lost, torn, a step ahead or waiting.
struct Case {
  config::RunConfig config;
  int ranks = 0;
  cluster::Round over;
  cluster::RoundEnd end;
};

Case made_up(unsigned seed) {
  Chance chance(seed);
  const int replicas = 2 + chance.below(3);
  const int shards = 1 + chance.below(3);
  const int tp = 1 + chance.below(2);
  const int pp = 1 + chance.below(2);
  const int ranks = replicas * shards * tp * pp;
  Case made{.config = config_of(
                {shards > 1 ? "parallel.sharding=hybrid_shard" : "parallel.sharding=no_shard",
                 format("parallel.dp_replicate={}", replicas), format("parallel.tp={}", tp),
                 format("parallel.pp={}", pp), "model.heads=2", "model.layers=2", "train.batch=64"},
                ranks),
            .ranks = ranks,
            .over = {},
            .end = {}};
  const int there = (1 + chance.below(replicas)) * shards * tp * pp;
  std::vector<int> others(static_cast<size_t>(ranks) - 1);
  std::iota(others.begin(), others.end(), 1);
  for (size_t i = others.size(); i > 1; --i)
    std::swap(others[i - 1], others[static_cast<size_t>(chance.below(static_cast<int>(i)))]);
  made.over.seats = {0};
  for (int i = 0; i + 1 < there; ++i) made.over.seats.push_back(others[static_cast<size_t>(i)]);
  std::vector<int> inside = made.over.seats;
  std::sort(inside.begin(), inside.end());
  for (const int seat : inside) {
    if (seat > 0 && chance.one_in(5)) continue;  // is lost
    std::optional<int64_t> step = chance.one_in(8) ? 42 : 41;
    if (chance.one_in(12)) step.reset();
    made.end.reports.push_back({seat, step});
  }
  for (int seat = 1; seat < ranks; ++seat) {
    if (!made.over.has(seat) && chance.one_in(2)) made.end.waiting.push_back(seat);
  }
  return made;
}

TEST(Replicas, EveryPartOfTheStateIsThere) {
  int decided = 0;
  int given = 0;
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = made_up(seed);
    const cluster::RoundDecision next =
        without_lost_replicas(made.config, made.ranks, made.over, made.end);
    if (next.seats.empty()) {
      EXPECT_FALSE(next.why.empty());
      continue;
    }
    ++decided;
    const auto size = static_cast<int>(next.seats.size());
    ASSERT_EQ(next.seats.front(), 0);
    ASSERT_EQ(std::set<int>(next.seats.begin(), next.seats.end()).size(), next.seats.size());
    std::map<int, std::optional<int64_t>> steps;
    for (const cluster::RoundReport& report : made.end.reports) steps[report.seat] = report.step;
    for (const int seat : next.seats) {
      const auto& waiting = made.end.waiting;
      ASSERT_TRUE(steps.contains(seat) ||
                  std::find(waiting.begin(), waiting.end(), seat) != waiting.end());
    }
    // Somebody who was at the same place before, among those who hold the same, has the step's state; or is given it by
    // one who was there too.
    const auto before = static_cast<int>(made.over.seats.size());
    const Mesh old_mesh = mesh_of(replicas_left(made.config.parallel, made.ranks, before), before);
    const Mesh mesh = mesh_of(replicas_left(made.config.parallel, made.ranks, size), size);
    const auto old_place = [&](int seat) {
      const auto was = std::find(made.over.seats.begin(), made.over.seats.end(), seat);
      EXPECT_NE(was, made.over.seats.end());
      return old_mesh.group_index(static_cast<int>(was - made.over.seats.begin()),
                                  Axis::kDpReplicate);
    };
    std::set<int> parties;
    for (const cluster::StateTransfer& transfer : next.transfers) {
      ++given;
      ASSERT_TRUE(steps.contains(transfer.from) && steps.contains(transfer.to));
      ASSERT_EQ(steps[transfer.from], next.step);
      ASSERT_EQ(old_place(transfer.from), old_place(transfer.to));
      ASSERT_TRUE(parties.insert(transfer.from).second && parties.insert(transfer.to).second);
    }
    for (const cluster::StateTransfer& transfer : next.transfers) steps[transfer.to] = next.step;
    for (int rank = 0; rank < size; ++rank) {
      bool has = false;
      for (const int peer : mesh.peers(rank, Axis::kDpReplicate)) {
        const int seat = next.seats[static_cast<size_t>(peer)];
        const auto was = std::find(made.over.seats.begin(), made.over.seats.end(), seat);
        if (was == made.over.seats.end() || steps[seat] != next.step) continue;
        const auto old_rank = static_cast<int>(was - made.over.seats.begin());
        has = has || old_mesh.group_index(old_rank, Axis::kDpReplicate) ==
                         mesh.group_index(rank, Axis::kDpReplicate);
      }
      ASSERT_TRUE(has) << "rank " << rank;
    }
  }
  EXPECT_GT(decided, 1000);
  EXPECT_GT(given, 30);
}

}  // namespace
}  // namespace shoal::plan
