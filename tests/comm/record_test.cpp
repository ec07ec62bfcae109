#include <set>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/bench/paired.h"
#include "shoal/comm/call_log.h"
#include "shoal/comm/mesh_groups.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"

#include "tests/support/growth.h"

namespace shoal::comm {
namespace {

using plan::Axis;
using plan::AxisSet;
using ::testing::ElementsAre;

at::Tensor meta(int64_t elements, at::ScalarType type = at::kFloat) {
  return at::empty({elements}, at::TensorOptions(type).device(at::kMeta));
}

std::string line(const Call& call) {
  return format("{} {} '{}' on {} of {} peer {} #{}", op_name(call.op), call.bytes, call.what,
                call.group, call.group_size, call.peer, call.sequence);
}

TEST(Record, WritesDownOpBytesGroupPurposeAndOrder) {
  CallLog log;
  const auto world = World::record(/*rank=*/5, /*world_size=*/12, &log);
  Group group = world->group("dp", {1, 5, 9});
  EXPECT_EQ(group.rank(), 1);
  EXPECT_EQ(group.backend(), "record");
  group.all_gather(meta(21), meta(7), "weights").wait();
  group.reduce_scatter(meta(7, at::kBFloat16), meta(21, at::kBFloat16), Reduce::kAvg, "gradients")
      .wait();
  group.all_reduce(meta(3, at::kDouble), Reduce::kSum, "norm").wait();
  group.broadcast(meta(5), 2, "flags").wait();
  group.reduce(meta(5), Reduce::kMax, 0, "peak").wait();
  group.gather(at::Tensor(), meta(7), 0, "metrics").wait();
  group.scatter(meta(7), at::Tensor(), 2, "batch").wait();
  group.all_to_all(meta(6), meta(9), {{1, 2, 3}, {2, 3, 4}}, "heads").wait();
  group.send(meta(11), 2, 0, "activations").wait();
  group.recv(meta(11), 0, 0, "activations").wait();
  group.barrier("step").wait();
  std::vector<std::string> lines;
  for (const Call& call : log.calls()) lines.push_back(line(call));
  EXPECT_THAT(
      lines,
      ElementsAre(
          "all_gather 84 'weights' on dp of 3 peer -1 #0",
          "reduce_scatter 42 'gradients' on dp of 3 peer -1 #1",
          "all_reduce 24 'norm' on dp of 3 peer -1 #2", "broadcast 20 'flags' on dp of 3 peer 2 #3",
          "reduce 20 'peak' on dp of 3 peer 0 #4", "gather 84 'metrics' on dp of 3 peer 0 #5",
          "scatter 84 'batch' on dp of 3 peer 2 #6", "all_to_all 36 'heads' on dp of 3 peer -1 #7",
          "send 44 'activations' on dp of 3 peer 2 #8",
          "recv 44 'activations' on dp of 3 peer 0 #8", "barrier 0 'step' on dp of 3 peer -1 #8"));
}

TEST(Record, ChecksShapesLikeARealBackend) {
  CallLog log;
  const auto world = World::record(0, 4, &log);
  Group group = world->group("tp", {0, 1, 2, 3});
  EXPECT_THROW((void)group.all_gather(meta(21), meta(7), "wrong"), BugError);
  EXPECT_THROW((void)group.reduce_scatter(meta(7), meta(27), Reduce::kSum, "wrong"), BugError);
  EXPECT_TRUE(log.calls().empty()) << "a refused call is not announced";
}

TEST(Record, HoldsTensorsOfAnySize) {
  CallLog log;
  const auto world = World::record(16383, 16384, &log);
  std::vector<int> everyone(16384);
  for (size_t i = 0; i < everyone.size(); ++i) everyone[i] = static_cast<int>(i);
  Group group = world->group("dp_shard", everyone);
  const int64_t shard = int64_t{405'000'000'000} / 16384 + 1;
  group
      .all_gather(meta(shard * 16384, at::kBFloat16), meta(shard, at::kBFloat16), "405B parameters")
      .wait();
  EXPECT_EQ(log.calls().at(0).bytes, shard * 16384 * 2);
}

// Walks every group of every rank of a mesh with five axes, with a call on each. Returns the number of
// calls and of groups.
std::pair<size_t, size_t> walk_groups(int shards) {
  const plan::Mesh mesh({{Axis::kPp, 8},
                         {Axis::kDpReplicate, 2},
                         {Axis::kDpShard, shards},
                         {Axis::kCp, 2},
                         {Axis::kTp, 8}});
  const std::vector<AxisSet> axes = {Axis::kPp, Axis::kDpReplicate, Axis::kDpShard, Axis::kCp,
                                     Axis::kTp};
  const at::Tensor shard = meta(7);
  CallLog log;
  std::set<std::pair<std::string, int>> seen;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const auto world = World::record(rank, mesh.num_ranks(), &log);
    MeshGroups groups(*world, mesh, axes);
    for (const AxisSet set : axes) {
      Group group = groups.along(set);
      group.all_gather(meta(7 * group.size()), shard, "walk").wait();
      seen.emplace(group.name(), group.ranks().front());
    }
  }
  return {log.calls().size(), seen.size()};
}

TEST(Record, WalksAllGroupsOf16384Ranks) {
  std::pair<size_t, size_t> counted;
  const auto growth =
      tests::growth_of([&] { counted = walk_groups(8); }, [&] { counted = walk_groups(64); });
  EXPECT_EQ(counted.first, 5U * 16384U);
  EXPECT_EQ(counted.second, 16384U / 8 + 16384U / 2 + 16384U / 64 + 16384U / 2 + 16384U / 8)
      << "every group was visited";
  if (growth) {
    EXPECT_LT(*growth, 16) << "8 times as many ranks";
  }
}

// The bare call of this backend does nothing, so that the rest is the overhead of Group: the
// announcement, the checks, the Pending.
TEST(Group, AddsLessThanTwentySmallAdditionsToACall) {
  const auto world = World::record(0, 2, nullptr);
  Group group = world->group("dp", {0, 1});
  const auto bare = world->bare_group("bare", {0, 1});
  const at::Tensor x = at::ones({1024});  // 4 KiB
  const auto announced = [&] { group.all_reduce(x, Reduce::kSum, "overhead of a call").wait(); };
  if (!tests::is_nightly()) return announced();
  const bench::Paired result = bench::measure_paired({.a = announced,
                                                      .b =
                                                          [&] {
                                                            std::vector<at::Tensor> tensors = {x};
                                                            bare->allreduce(tensors)->wait();
                                                            for (int i = 0; i < 20; ++i) x.add_(1);
                                                          },
                                                      .calls = 2000});
  std::cout << "a Group call takes " << result.ratio.text(2) << " of a bare one and 20 additions\n";
  EXPECT_LT(result.ratio.median, 1);
}

TEST(MeshGroups, RefusesAxesThatWereNotAskedFor) {
  const plan::Mesh mesh({{Axis::kDpShard, 2}, {Axis::kTp, 2}});
  const auto world = World::record(3, 4, nullptr);
  MeshGroups groups(*world, mesh, {Axis::kTp});
  EXPECT_THAT(groups.along(Axis::kTp).ranks(), ElementsAre(2, 3));
  EXPECT_THROW((void)groups.along(Axis::kDpShard), BugError);
}

}  // namespace
}  // namespace shoal::comm
