// One suite for every backend: each call, type and reduction against a serial reference, on odd
// sizes.

#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/comm/backends.h"
#include "shoal/comm/world.h"
#include "shoal/core/format.h"

#include "tests/comm/everyone.h"
#include "tests/support/growth.h"
#include "tests/support/run_ranks.h"

namespace shoal::comm {
namespace {

using config::Backend;
using tests::Launcher;

struct Setting {
  Backend backend;
  int ranks;
};

std::string name_of(const ::testing::TestParamInfo<Setting>& info) {
  const char* backend = info.param.backend == Backend::kGloo     ? "gloo"
                        : info.param.backend == Backend::kMpi    ? "mpi"
                        : info.param.backend == Backend::kStrict ? "strict"
                        : info.param.backend == Backend::kNccl   ? "nccl"
                                                                 : "local";
  return format("{}_{}", backend, info.param.ranks);
}

const std::vector<at::ScalarType> kTypes = {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf,
                                            at::kLong};
const std::vector<Reduce> kReductions = {Reduce::kSum, Reduce::kAvg, Reduce::kMin, Reduce::kMax};

const std::vector<int64_t> kSizes = {1, 13, 4099};

// Past the chunk of the pairwise reduce-scatter, so that several chunks and an uneven last one run.
constexpr int64_t kSeveralChunks = 300'007;

// The device of this rank's tensors: every process of this test is one rank.
c10::Device& device() {
  static c10::Device chosen(c10::kCPU);
  return chosen;
}

at::TensorOptions on_device(at::ScalarType type) {
  return at::TensorOptions(type).device(device());
}

bool has(at::ScalarType type, Reduce op) { return op != Reduce::kAvg || at::isFloatingType(type); }

// Returns the contribution of rank `rank`: `size` elements from `first` on. They are integers from
// -6 to 6: sums over 8 ranks are exact even in bfloat16, so every reduction has one right answer.
at::Tensor whole_numbers(int rank, int64_t size, at::ScalarType type, int64_t first = 0) {
  return ((at::arange(first, first + size, on_device(at::kLong)) * 7 + rank * 5).remainder(13) - 6)
      .to(type);
}

at::Tensor reference(Reduce op, int ranks, int64_t size, at::ScalarType type, int64_t first = 0) {
  std::vector<at::Tensor> all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(whole_numbers(rank, size, at::kDouble, first));
  const at::Tensor stacked = at::stack(all);
  switch (op) {
    case Reduce::kSum:
      return stacked.sum(0).to(type);
    case Reduce::kAvg:
      return (stacked.sum(0) / ranks).to(type);
    case Reduce::kMin:
      return stacked.amin(0).to(type);
    case Reduce::kMax:
      return stacked.amax(0).to(type);
  }
  return {};
}

// Averages are divided in another precision than the reference, so they may differ by one rounding
// of the result.
void expect_same(const at::Tensor& got,
                 const at::Tensor& expected,
                 Reduce op,
                 const std::string& what) {
  const double epsilon = got.scalar_type() == at::kBFloat16 ? 0x1p-8
                         : got.scalar_type() == at::kHalf   ? 0x1p-11
                         : got.scalar_type() == at::kFloat  ? 0x1p-23
                                                            : 0x1p-52;
  const double tolerance = op == Reduce::kAvg ? 6 * epsilon : 0;
  const double error = (got.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
  EXPECT_LE(error, tolerance) << what;
}

std::string describe(const char* call,
                     at::ScalarType type,
                     int64_t size,
                     Reduce op = Reduce::kSum) {
  return format("{} of {} {} with reduction {}", call, size, c10::toString(type),
                static_cast<int>(op));
}

void check_reductions(Group& group, at::ScalarType type, int64_t size) {
  const int n = group.size();
  for (const Reduce op : kReductions) {
    if (!has(type, op)) continue;
    at::Tensor x = whole_numbers(group.rank(), size, type);
    group.all_reduce(x, op, "test").wait();
    expect_same(x, reference(op, n, size, type), op, describe("all_reduce", type, size, op));

    const int root = static_cast<int>(size) % n;
    x = whole_numbers(group.rank(), size, type);
    group.reduce(x, op, root, "test").wait();
    if (group.rank() == root)
      expect_same(x, reference(op, n, size, type), op, describe("reduce", type, size, op));

    const at::Tensor in = whole_numbers(group.rank(), size * n, type);
    at::Tensor shard = at::empty({size}, on_device(type));
    group.reduce_scatter(shard, in, op, "test").wait();
    const at::Tensor mine = reference(op, n, size, type, group.rank() * size);
    expect_same(shard, mine, op, describe("reduce_scatter", type, size, op));
    EXPECT_TRUE(in.equal(whole_numbers(group.rank(), size * n, type)))
        << "the input of a reduce_scatter must stay";
  }
}

void check_movements(Group& group, at::ScalarType type, int64_t size) {
  const int n = group.size();
  const int me = group.rank();
  const int root = (n - 1) / 2;
  at::Tensor x = whole_numbers(me, size, type);
  group.broadcast(x, root, "test").wait();
  EXPECT_TRUE(x.equal(whole_numbers(root, size, type))) << describe("broadcast", type, size);

  std::vector<at::Tensor> all;
  for (int rank = 0; rank < n; ++rank) all.push_back(whole_numbers(rank, size, type));
  const at::Tensor gathered = at::cat(all);
  at::Tensor out = at::zeros({size * n}, on_device(type));
  group.all_gather(out, whole_numbers(me, size, type), "test").wait();
  EXPECT_TRUE(out.equal(gathered)) << describe("all_gather", type, size);

  out.zero_();
  at::Tensor mine = out.narrow(0, me * size, size);  // in place: the shard is a part of the output
  mine.copy_(whole_numbers(me, size, type));
  group.all_gather(out, mine, "test").wait();
  EXPECT_TRUE(out.equal(gathered)) << describe("all_gather in place", type, size);

  out.zero_();
  group.gather(me == root ? out : at::Tensor(), whole_numbers(me, size, type), root, "test").wait();
  if (me == root) {
    EXPECT_TRUE(out.equal(gathered)) << describe("gather", type, size);
  }

  at::Tensor shard = at::zeros({size}, on_device(type));
  group.scatter(shard, me == root ? gathered : at::Tensor(), root, "test").wait();
  EXPECT_TRUE(shard.equal(whole_numbers(me, size, type))) << describe("scatter", type, size);

  // Part j of rank i goes to rank j as its part i.
  const at::Tensor in = whole_numbers(me, size * n, type);
  at::Tensor swapped = at::zeros({size * n}, on_device(type));
  group.all_to_all(swapped, in, {}, "test").wait();
  for (int rank = 0; rank < n; ++rank) {
    EXPECT_TRUE(
        swapped.narrow(0, rank * size, size).equal(whole_numbers(rank, size, type, me * size)))
        << describe("all_to_all", type, size);
  }
}

// Rank i sends i + j + 1 elements to rank j, and none to its right neighbour.
void check_uneven_all_to_all(Group& group) {
  const int n = group.size();
  const auto count = [&](int from, int to) {
    return n > 1 && to == (from + 1) % n ? 0 : int64_t{from} + to + 1;
  };
  Group::Splits splits;
  for (int rank = 0; rank < n; ++rank) {
    splits.in.push_back(count(group.rank(), rank));
    splits.out.push_back(count(rank, group.rank()));
  }
  const int64_t in_size = std::accumulate(splits.in.begin(), splits.in.end(), int64_t{0});
  const int64_t out_size = std::accumulate(splits.out.begin(), splits.out.end(), int64_t{0});
  at::Tensor out = at::full({out_size}, -1, on_device(at::kFloat));
  group.all_to_all(out, at::full({in_size}, group.rank(), on_device(at::kFloat)), splits, "uneven")
      .wait();
  int64_t first = 0;
  for (int rank = 0; rank < n; ++rank) {
    const int64_t size = splits.out[static_cast<size_t>(rank)];
    EXPECT_TRUE(out.narrow(0, first, size).eq(rank).all().item<bool>());
    first += size;
  }
}

// Whether a receive finds its message by tag, and may be posted before others: NCCL's rules do not have it.
bool has_tags(const Group& group) {
  return group.backend() != "strict" && group.backend() != "nccl";
}

// Transfers that meet in the order of both sides, as every backend has them: first together, then a
// message that goes from the first rank to the last.
void check_transfers_in_order(Group& group, at::ScalarType type, int64_t size) {
  const int n = group.size();
  if (n == 1) return;
  const int me = group.rank();
  const int right = (me + 1) % n;
  const int left = (me - 1 + n) % n;
  at::Tensor first = at::zeros({size}, on_device(type));
  at::Tensor second = at::zeros({size}, on_device(type));
  using Way = Group::Transfer::Way;
  group
      .exchange({{Way::kRecv, first, left, 7},
                 {Way::kRecv, second, left, 8},
                 {Way::kSend, whole_numbers(me, size, type, 1), right, 7},
                 {Way::kSend, whole_numbers(me, size, type, 2), right, 8}},
                "ring")
      .wait();
  EXPECT_TRUE(first.equal(whole_numbers(left, size, type, 1))) << describe("exchange", type, size);
  EXPECT_TRUE(second.equal(whole_numbers(left, size, type, 2))) << describe("exchange", type, size);

  at::Tensor message = whole_numbers(0, size, type);
  if (me > 0) {
    message.zero_();
    group.recv(message, left, 5, "chain").wait();
  }
  if (me + 1 < n) group.send(message, right, 5, "chain").wait();
  EXPECT_TRUE(message.equal(whole_numbers(0, size, type))) << describe("send", type, size);
}

void check_transfers(Group& group, at::ScalarType type, int64_t size) {
  const int n = group.size();
  if (n == 1 || !has_tags(group)) return;
  const int right = (group.rank() + 1) % n;
  const int left = (group.rank() - 1 + n) % n;
  at::Tensor first = at::zeros({size}, on_device(type));
  at::Tensor second = at::zeros({size}, on_device(type));
  // Messages are received in the opposite order: they match by tag.
  using Way = Group::Transfer::Way;
  group
      .exchange({{Way::kRecv, second, left, 8},
                 {Way::kRecv, first, left, 7},
                 {Way::kSend, whole_numbers(group.rank(), size, type, 1), right, 7},
                 {Way::kSend, whole_numbers(group.rank(), size, type, 2), right, 8}},
                "ring")
      .wait();
  EXPECT_TRUE(first.equal(whole_numbers(left, size, type, 1))) << describe("exchange", type, size);
  EXPECT_TRUE(second.equal(whole_numbers(left, size, type, 2))) << describe("exchange", type, size);

  at::Tensor received = at::zeros({size}, on_device(type));
  Pending receiving = group.recv(received, left, Group::kMaxTag, "ring");
  Pending sending =
      group.send(whole_numbers(group.rank(), size, type), right, Group::kMaxTag, "ring");
  receiving.wait();
  sending.wait();
  EXPECT_TRUE(received.equal(whole_numbers(left, size, type))) << describe("send", type, size);
}

void check_coalesced(Group& group, at::ScalarType type) {
  const int n = group.size();
  const std::vector<int64_t> sizes = {3, 1, 257};
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> shards;
  std::vector<at::Tensor> wholes;
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> parts;
  for (const int64_t size : sizes) {
    sums.push_back(whole_numbers(group.rank(), size, type));
    shards.push_back(whole_numbers(group.rank(), size, type));
    wholes.push_back(at::zeros({size * n}, on_device(type)));
    inputs.push_back(whole_numbers(group.rank(), size * n, type));
    parts.push_back(at::zeros({size}, on_device(type)));
  }
  Pending reduce = group.all_reduce(sums, Reduce::kSum, "many");
  Pending gather = group.all_gather(wholes, shards, "many");
  Pending scatter = group.reduce_scatter(parts, inputs, Reduce::kMax, "many");
  reduce.wait();
  gather.wait();
  scatter.wait();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i];
    EXPECT_TRUE(sums[i].equal(reference(Reduce::kSum, n, size, type)));
    for (int rank = 0; rank < n; ++rank) {
      EXPECT_TRUE(wholes[i].narrow(0, rank * size, size).equal(whole_numbers(rank, size, type)));
    }
    EXPECT_TRUE(parts[i].equal(reference(Reduce::kMax, n, size, type, group.rank() * size)));
  }
}

// Checks inexact sums: the error is at most (n - 1) roundings of a partial sum, each at most half
// an ulp of sum |x|; bfloat16 adds the rounding of the result.
void check_precision(Group& group, at::ScalarType type) {
  const int n = group.size();
  constexpr int64_t kSize = 10'007;
  const auto value = [&](int rank) {
    return at::sin(at::arange(kSize * n, on_device(at::kDouble)) * 0.37 + rank).to(type);
  };
  at::Tensor exact = at::zeros({kSize * n}, on_device(at::kDouble));
  at::Tensor magnitude = at::zeros({kSize * n}, on_device(at::kDouble));
  for (int rank = 0; rank < n; ++rank) {
    exact += value(rank).to(at::kDouble);
    magnitude += value(rank).to(at::kDouble).abs();
  }
  const double half_ulp = type == at::kBFloat16 ? 0x1p-9
                          : type == at::kHalf   ? 0x1p-12
                          : type == at::kFloat  ? 0x1p-24
                                                : 0x1p-53;
  at::Tensor x = value(group.rank());
  group.all_reduce(x, Reduce::kSum, "precision").wait();
  const double steps = n;  // n - 1 additions and the rounding of the result
  EXPECT_TRUE(
      ((x.to(at::kDouble) - exact).abs() <= magnitude * half_ulp * steps).all().item<bool>());
  at::Tensor shard = at::zeros({kSize}, on_device(type));
  group.reduce_scatter(shard, value(group.rank()), Reduce::kSum, "precision").wait();
  const at::Tensor mine = exact.narrow(0, group.rank() * kSize, kSize);
  const at::Tensor bound = magnitude.narrow(0, group.rank() * kSize, kSize) * half_ulp * steps;
  EXPECT_TRUE(((shard.to(at::kDouble) - mine).abs() <= bound).all().item<bool>());
}

// Many calls in flight at once, waited for in another order.
void check_overlap(Group& group) {
  const int n = group.size();
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> wholes;
  std::vector<Pending> pending;
  for (int i = 0; i < 20; ++i) {
    sums.push_back(whole_numbers(group.rank(), 1021 + i, at::kFloat));
    wholes.push_back(at::zeros({(101 + i) * n}, on_device(at::kFloat)));
    pending.push_back(group.all_reduce(sums.back(), Reduce::kSum, format("sum {}", i)));
    pending.push_back(group.all_gather(
        wholes.back(), whole_numbers(group.rank(), 101 + i, at::kFloat), format("gather {}", i)));
  }
  for (size_t i = pending.size(); i-- > 0;) pending[i].wait();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(
        sums[static_cast<size_t>(i)].equal(reference(Reduce::kSum, n, 1021 + i, at::kFloat)));
    EXPECT_TRUE(wholes[static_cast<size_t>(i)]
                    .narrow(0, (n - 1) * (101 + i), 101 + i)
                    .equal(whole_numbers(n - 1, 101 + i, at::kFloat)));
  }
}

// A receive that is posted before a collective and served after it gets its own message, even when
// the collective is made of messages.
void check_transfers_around_collectives(Group& group) {
  const int n = group.size();
  if (n == 1 || !has_tags(group)) return;
  const int right = (group.rank() + 1) % n;
  const int left = (group.rank() - 1 + n) % n;
  for (int tag = 0; tag < n; ++tag) {
    at::Tensor received = at::zeros({13}, on_device(at::kFloat));
    Pending receiving = group.recv(received, left, tag, "posted early");
    at::Tensor out = at::zeros({13 * n}, on_device(at::kFloat));
    group.all_to_all(out, at::full({13 * n}, group.rank(), on_device(at::kFloat)), {}, "in between")
        .wait();
    at::Tensor whole = at::zeros({13 * n}, on_device(at::kFloat));
    group.all_gather(whole, at::full({13}, group.rank(), on_device(at::kFloat)), "in between")
        .wait();
    Pending sending = group.send(at::full({13}, 1000 + group.rank(), on_device(at::kFloat)), right,
                                 tag, "sent late");
    receiving.wait();
    sending.wait();
    EXPECT_TRUE(received.eq(1000 + left).all().item<bool>()) << "tag " << tag;
    for (const at::Tensor& result : {out, whole}) {
      EXPECT_TRUE(result.narrow(0, left * 13, 13).eq(left).all().item<bool>()) << "tag " << tag;
    }
  }
}

// Shards and whole tensors lie in one buffer, as in flat parameter storage, and in place.
void check_one_buffer(Group& group) {
  const int n = group.size();
  constexpr int64_t kPart = 17;
  const auto mine = [&] { return whole_numbers(group.rank(), kPart, at::kFloat); };
  at::Tensor arena = at::full({kPart * (n + 1)}, -7.0, on_device(at::kFloat));
  const at::Tensor whole = arena.narrow(0, 0, kPart * n);
  const at::Tensor shard = arena.narrow(0, kPart * n, kPart);
  shard.copy_(mine());
  group.all_gather(whole, shard, "side by side").wait();
  for (int rank = 0; rank < n; ++rank)
    EXPECT_TRUE(whole.narrow(0, rank * kPart, kPart).equal(whole_numbers(rank, kPart, at::kFloat)));
  const at::Tensor own = whole.narrow(0, group.rank() * kPart, kPart);
  whole.fill_(-7.0);
  own.copy_(mine());
  group.all_gather(whole, own, "in place").wait();
  for (int rank = 0; rank < n; ++rank)
    EXPECT_TRUE(whole.narrow(0, rank * kPart, kPart).equal(whole_numbers(rank, kPart, at::kFloat)));
  const at::Tensor sum = reference(Reduce::kSum, n, kPart, at::kFloat, group.rank() * kPart);
  whole.copy_(whole_numbers(group.rank(), kPart * n, at::kFloat));
  group.reduce_scatter(shard, whole, Reduce::kSum, "side by side").wait();
  EXPECT_TRUE(shard.equal(sum));
  group.reduce_scatter(own, whole, Reduce::kSum, "in place").wait();
  EXPECT_TRUE(own.equal(sum));
}

void check_edges(Group& group) {
  at::Tensor empty = at::zeros({0}, on_device(at::kFloat));
  group.all_reduce(empty, Reduce::kSum, "nothing").wait();
  group.all_gather(empty, empty, "nothing").wait();
  group.reduce_scatter(empty, empty, Reduce::kSum, "nothing").wait();
  at::Tensor bytes = at::full({7}, group.rank(), on_device(at::kByte));
  group.broadcast(bytes, group.size() - 1, "bytes").wait();
  EXPECT_EQ(bytes[6].item<int>(), group.size() - 1);
  at::Tensor matrix = at::ones({3, 5}, on_device(at::kDouble));
  group.all_reduce(matrix, Reduce::kSum, "a matrix").wait();
  EXPECT_TRUE(matrix.eq(group.size()).all().item<bool>());
  group.barrier("test").wait();
  Pending nothing;
  EXPECT_TRUE(nothing.done());
  nothing.wait();
}

// Even and odd ranks are two groups that communicate at the same time.
void check_subgroups(World& world) {
  std::vector<int> mine;
  for (int rank = world.rank() % 2; rank < world.size(); rank += 2) mine.push_back(rank);
  Group group = world.group("parity", mine);
  at::Tensor x = at::full({5}, world.rank(), on_device(at::kDouble));
  group.all_reduce(x, Reduce::kSum, "subgroup").wait();
  EXPECT_EQ(x[4].item<double>(), std::accumulate(mine.begin(), mine.end(), 0));
  EXPECT_EQ(group.ranks(), mine);
}

void check_control(World& world) {
  at::Tensor x = at::full({3}, world.rank() + 1.0, at::kDouble);
  world.control().all_reduce(x, Reduce::kAvg, "average");
  EXPECT_DOUBLE_EQ(x[2].item<double>(), (world.size() + 1) / 2.0);
  for (int root = 0; root < world.size(); ++root) {
    at::Tensor y = at::full({2}, world.rank(), at::kLong);
    world.control().broadcast(y, root, "from each rank");
    EXPECT_EQ(y[1].item<int64_t>(), root);
  }
  EXPECT_TRUE(world.control().any(world.rank() == world.size() - 1, "the last one says yes"));
  EXPECT_FALSE(world.control().any(false, "nobody says yes"));
  world.control().barrier("test");
  EXPECT_EQ(world.hosts().size(), static_cast<size_t>(world.size()));
}

class Conformance : public ::testing::TestWithParam<Setting> {};

TEST_P(Conformance, EveryCallAgreesWithASerialReference) {
  const Setting setting = GetParam();
  tests::run_ranks(
      setting.ranks,
      [&](const cluster::Membership& me, const cluster::Environment& environment) {
        const auto world = World::join(
            me, environment,
            {.backend = setting.backend, .deadline = std::chrono::seconds(60), .control_block = 3});
        device() = world->device();
        {
          Group group = world->group("all", everyone(*world));
          for (const at::ScalarType type : kTypes) {
            for (const int64_t size : kSizes) {
              check_reductions(group, type, size);
              check_movements(group, type, size);
              check_transfers(group, type, size);
              check_transfers_in_order(group, type, size);
            }
            check_coalesced(group, type);
            if (at::isFloatingType(type)) check_precision(group, type);
          }
          check_reductions(group, at::kFloat, kSeveralChunks);
          check_movements(group, at::kFloat, kSeveralChunks);
          if (tests::is_nightly()) check_reductions(group, at::kBFloat16, kSeveralChunks);
          check_uneven_all_to_all(group);
          check_overlap(group);
          check_transfers_around_collectives(group);
          check_one_buffer(group);
          check_edges(group);
          check_subgroups(*world);
          check_control(*world);
        }
        world->leave();
      },
      {.launcher = setting.backend == Backend::kMpi ? Launcher::kMpirun : Launcher::kShoal});
}

// In an order that gives each third of them several backends and sizes, because the test has three
// shards.
INSTANTIATE_TEST_SUITE_P(Backends,
                         Conformance,
                         ::testing::Values(Setting{Backend::kLocal, 1},
                                           Setting{Backend::kGloo, 1},
                                           Setting{Backend::kMpi, 1},
                                           Setting{Backend::kGloo, 3},
                                           Setting{Backend::kGloo, 2},
                                           Setting{Backend::kStrict, 3},
                                           Setting{Backend::kMpi, 2},
                                           Setting{Backend::kMpi, 3},
                                           Setting{Backend::kGloo, 4},
                                           Setting{Backend::kStrict, 4},
                                           Setting{Backend::kMpi, 8},
                                           Setting{Backend::kMpi, 4},
                                           Setting{Backend::kGloo, 8}),
                         name_of);

// Returns the settings of a build with GPUs, which has no others.
std::vector<Setting> on_gpus() {
  std::vector<Setting> settings;
  for (const BackendStatus& status : backend_table()) {
    if (status.backend != Backend::kNccl || !status.usable) continue;
    for (const int ranks : {1, 2, 3, 4, 8}) settings.push_back({Backend::kNccl, ranks});
  }
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Gpus, Conformance, ::testing::ValuesIn(on_gpus()), name_of);

}  // namespace
}  // namespace shoal::comm
