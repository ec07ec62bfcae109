#include "shoal/plan/mesh.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string usage_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no UsageError was thrown";
}

TEST(Mesh, NumbersRanksWithTheLastAxisFastest) {
  const Mesh mesh({{Axis::kPp, 2}, {Axis::kDpShard, 2}, {Axis::kTp, 2}});
  EXPECT_EQ(mesh.num_ranks(), 8);
  EXPECT_THAT(mesh.coordinate(5), ElementsAre(1, 0, 1));
  EXPECT_EQ(mesh.rank_at({1, 0, 1}), 5);
  EXPECT_EQ(mesh.coordinate(5, Axis::kPp), 1);
  EXPECT_EQ(mesh.describe(), "pp 2 x dp_shard 2 x tp 2 = 8 ranks");
}

TEST(Mesh, PeersDifferOnlyAlongTheNamedAxes) {
  const Mesh mesh({{Axis::kPp, 2}, {Axis::kDpShard, 2}, {Axis::kTp, 2}});
  EXPECT_THAT(mesh.peers(5, Axis::kDpShard), ElementsAre(5, 7));
  EXPECT_THAT(mesh.peers(5, Axis::kPp), ElementsAre(1, 5));
  EXPECT_THAT(mesh.peers(5, {Axis::kPp, Axis::kTp}), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(mesh.peers(5, {Axis::kTp, Axis::kPp}), ElementsAre(0, 1, 4, 5))
      << "a set has no order";
  EXPECT_EQ(mesh.position(5, {Axis::kPp, Axis::kTp}), 3);
}

TEST(Mesh, AnAxisThatIsNotListedHasOneRank) {
  const Mesh mesh({{Axis::kDpShard, 3}});
  EXPECT_THAT(mesh.peers(2, Axis::kTp), ElementsAre(2));
  EXPECT_EQ(mesh.coordinate(2, Axis::kTp), 0);
  EXPECT_EQ(mesh.size(Axis::kTp), 1);
  EXPECT_EQ(mesh.num_groups(Axis::kTp), 3);
}

TEST(Mesh, OneRankNeedsNoAxes) {
  const Mesh mesh({});
  EXPECT_EQ(mesh.num_ranks(), 1);
  EXPECT_THAT(mesh.peers(0, {Axis::kDpReplicate, Axis::kDpShard}), ElementsAre(0));
  EXPECT_EQ(mesh.describe(), "1 rank");
}

TEST(Mesh, RefusesWhatIsNoMesh) {
  EXPECT_THAT(usage_error_of([] {
                Mesh({{Axis::kTp, 0}});
              }),
              HasSubstr("tp has size 0, but needs at least 1"));
  EXPECT_THAT(usage_error_of([] { Mesh({{Axis::kTp, -2}}); }), HasSubstr("tp has size -2"));
  EXPECT_THAT(usage_error_of([] {
                Mesh({{Axis::kTp, 2}, {Axis::kTp, 2}});
              }),
              HasSubstr("tp is listed twice"));
  EXPECT_THAT(usage_error_of([] { Mesh({{Axis::kEp, 2}}); }), HasSubstr("ep is reserved"));
  EXPECT_THAT(usage_error_of([] {
                Mesh({{Axis::kPp, 1 << 15}, {Axis::kTp, 1 << 15}});
              }),
              HasSubstr("pp of size 32768 makes more than 1048576 ranks"));
}

TEST(Mesh, RefusesRanksAndCoordinatesOutsideIt) {
  const Mesh mesh({{Axis::kPp, 3}, {Axis::kTp, 5}});
  EXPECT_THROW((void)mesh.coordinate(15), BugError);
  EXPECT_THROW((void)mesh.peers(-1, Axis::kTp), BugError);
  EXPECT_THROW((void)mesh.rank_at({3, 0}), BugError);
  EXPECT_THROW((void)mesh.rank_at({0}), BugError);
}

TEST(Axis, SetsNameTheirAxesFromTheOutermost) {
  EXPECT_EQ((AxisSet{Axis::kCp, Axis::kDpShard}.name()), "dp_shard+cp");
}

// Properties over meshes of every shape, odd ones and the largest included.
class EveryMesh : public ::testing::TestWithParam<std::vector<Mesh::Dimension>> {};

std::vector<AxisSet> some_products() {
  return {Axis::kDpReplicate,
          Axis::kDpShard,
          Axis::kCp,
          Axis::kPp,
          Axis::kTp,
          {Axis::kDpReplicate, Axis::kDpShard},
          {Axis::kDpShard, Axis::kCp},
          {Axis::kDpReplicate, Axis::kDpShard, Axis::kCp},
          {Axis::kPp, Axis::kTp},
          {Axis::kDpReplicate, Axis::kDpShard, Axis::kCp, Axis::kPp, Axis::kTp},
          AxisSet{}};
}

TEST_P(EveryMesh, RankAndCoordinateAreInverse) {
  const Mesh mesh(GetParam());
  for (int rank = 0; rank < mesh.num_ranks(); ++rank)
    ASSERT_EQ(mesh.rank_at(mesh.coordinate(rank)), rank);
}

TEST_P(EveryMesh, GroupsPartitionTheRanks) {
  const Mesh mesh(GetParam());
  for (const AxisSet axes : some_products()) {
    std::vector<int> owner(static_cast<size_t>(mesh.num_ranks()), -1);
    for (int group = 0; group < mesh.num_groups(axes); ++group) {
      const int lowest = mesh.lowest_rank(group, axes);
      const std::vector<int> ranks = mesh.peers(lowest, axes);
      ASSERT_EQ(static_cast<int>(ranks.size()), mesh.size(axes));
      ASSERT_EQ(ranks.front(), lowest);
      ASSERT_TRUE(group == 0 || lowest > mesh.lowest_rank(group - 1, axes));
      ASSERT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
      for (size_t i = 0; i < ranks.size(); ++i) {
        ASSERT_EQ(std::exchange(owner[static_cast<size_t>(ranks[i])], group), -1)
            << "a rank in two groups";
        ASSERT_EQ(mesh.position(ranks[i], axes), static_cast<int>(i));
        ASSERT_EQ(mesh.group_index(ranks[i], axes), group);
      }
    }
    ASSERT_EQ(std::count(owner.begin(), owner.end(), -1), 0) << axes.name();
  }
}

TEST_P(EveryMesh, EveryMemberSeesTheSamePeers) {
  const Mesh mesh(GetParam());
  // Large meshes by sample, small ones whole.
  const int stride = std::max(1, mesh.num_ranks() / 97);
  for (const AxisSet axes : some_products()) {
    for (int rank = 0; rank < mesh.num_ranks(); rank += stride) {
      const std::vector<int> ranks = mesh.peers(rank, axes);
      ASSERT_EQ(mesh.peers(ranks.back(), axes), ranks);
      for (const int peer : ranks) {  // same coordinate on every axis outside the set
        for (const auto [axis, size] : mesh.dimensions()) {
          if (axes.contains(axis)) continue;
          ASSERT_EQ(mesh.coordinate(peer, axis), mesh.coordinate(rank, axis));
        }
      }
    }
  }
}

std::string shape_name(const ::testing::TestParamInfo<std::vector<Mesh::Dimension>>& info) {
  std::string name = "mesh";
  for (const auto [axis, size] : info.param) {
    name += "_" + std::string(axis_name(axis)) + std::to_string(size);
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    EveryMesh,
    ::testing::Values(std::vector<Mesh::Dimension>{},
                      std::vector<Mesh::Dimension>{{Axis::kTp, 1}},
                      std::vector<Mesh::Dimension>{{Axis::kDpShard, 7}},
                      std::vector<Mesh::Dimension>{
                          {Axis::kTp, 3}, {Axis::kPp, 5}, {Axis::kDpShard, 2}},
                      std::vector<Mesh::Dimension>{
                          {Axis::kCp, 2}, {Axis::kDpReplicate, 3}, {Axis::kTp, 11}, {Axis::kPp, 1}},
                      std::vector<Mesh::Dimension>{{Axis::kDpReplicate, 3},
                                                   {Axis::kDpShard, 13},
                                                   {Axis::kCp, 5},
                                                   {Axis::kPp, 7},
                                                   {Axis::kTp, 11}},
                      std::vector<Mesh::Dimension>{{Axis::kDpReplicate, 4},
                                                   {Axis::kDpShard, 16},
                                                   {Axis::kCp, 2},
                                                   {Axis::kPp, 16},
                                                   {Axis::kTp, 8}},
                      std::vector<Mesh::Dimension>{{Axis::kPp, 16},
                                                   {Axis::kDpReplicate, 4},
                                                   {Axis::kDpShard, 16},
                                                   {Axis::kCp, 2},
                                                   {Axis::kTp, 8}}),
    shape_name);

TEST(Mesh, KnowsAlongWhichAxesSomebodyElseIs) {
  const Mesh mesh({{Axis::kPp, 3}, {Axis::kDpReplicate, 1}, {Axis::kTp, 2}});
  EXPECT_EQ(mesh.crowded({Axis::kPp, Axis::kDpReplicate, Axis::kDpShard}), AxisSet(Axis::kPp));
  EXPECT_EQ(mesh.crowded({Axis::kTp, Axis::kPp}), AxisSet({Axis::kTp, Axis::kPp}));
  EXPECT_EQ(mesh.crowded(Axis::kDpReplicate), AxisSet());
}

}  // namespace
}  // namespace shoal::plan
