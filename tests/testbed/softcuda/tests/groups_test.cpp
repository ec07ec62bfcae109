// libtorch's own ProcessGroupNCCL between processes, and NCCL's calls below it.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <nccl.h>

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/types.h>

#include "ranks.h"
#include "softcuda.h"

namespace {

using c10d::ProcessGroupNCCL;
using testing::HasSubstr;
using torch::Tensor;
using Group = c10::intrusive_ptr<ProcessGroupNCCL>;
using Tensors = std::vector<Tensor>;

// Before it ends the process the watchdog gives a recorder, which is off, fifteen seconds to write.
const int kNoPatience = setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "100", 1);

// One rank of a world of GPUs.
struct World {
  World(int my_rank, int count, const std::string& path, int seconds = 30)
      : rank(my_rank), ranks(count), gpu(at::kCUDA, c10::DeviceIndex(my_rank)) {
    c10::cuda::set_device(gpu.index());
    store = c10::make_intrusive<c10d::FileStore>(path, ranks);
    options = ProcessGroupNCCL::Options::create();
    options->timeout = std::chrono::seconds(seconds);
    options->group_name = "world";
    group = c10::make_intrusive<ProcessGroupNCCL>(store, rank, ranks, options);
    group->setBoundDeviceId(gpu);
    group->eagerConnectSingleDevice(gpu);
  }
  torch::TensorOptions on_gpu() const { return torch::device(gpu); }
  Tensor full(at::IntArrayRef sizes, double value) const {
    return torch::full(sizes, value, on_gpu());
  }

  // Counts what is wrong, and says it.
  void check(bool condition, const char* what) {
    if (condition) return;
    ++failures;
    std::fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
  }

  const int rank, ranks;
  const at::Device gpu;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<ProcessGroupNCCL::Options> options;
  Group group;
  int failures = 0;
};

void check_collectives(World& world) {
  const int ranks = world.ranks, rank = world.rank;
  for (const auto type : {torch::kFloat, torch::kBFloat16, torch::kHalf, torch::kLong}) {
    Tensors t{torch::full({1 << 18}, rank + 1, world.on_gpu().dtype(type))};
    world.group->allreduce(t)->wait();
    world.check(t[0].eq(ranks * (ranks + 1) / 2).all().item<bool>(), "all-reduce");
  }
  c10d::AllreduceOptions average;
  average.reduceOp = c10d::ReduceOp::AVG;
  Tensors t{world.full({5}, rank)};
  world.group->allreduce(t, average)->wait();
  world.check(t[0].eq((ranks - 1) / 2.0).all().item<bool>(), "average");
  auto gathered = torch::empty({7 * ranks}, world.on_gpu()), mine = world.full({7}, rank);
  world.group->_allgather_base(gathered, mine)->wait();
  const auto everybody = torch::arange(ranks, torch::kFloat);
  world.check(torch::equal(gathered.cpu(), everybody.repeat_interleave(7)), "all-gather");
  auto big = torch::arange(6 * ranks, world.on_gpu().dtype(torch::kFloat)) + rank;
  auto small = torch::empty({6}, world.on_gpu());
  world.group->_reduce_scatter_base(small, big)->wait();
  const auto part = torch::arange(6 * rank, 6 * rank + 6, torch::kFloat);
  world.check(torch::equal(small.cpu(), part * ranks + ranks * (ranks - 1) / 2), "reduce-scatter");
  c10d::BroadcastOptions from_one;
  from_one.rootRank = 1;
  Tensors b{world.full({3}, rank)};
  world.group->broadcast(b, from_one)->wait();
  world.check(b[0].eq(1).all().item<bool>(), "broadcast");
  auto got = torch::empty({ranks, 4}, world.on_gpu()), gave = world.full({ranks, 4}, rank);
  std::vector<int64_t> even;
  world.group->alltoall_base(got, gave, even, even)->wait();
  world.check(torch::equal(got.cpu(), everybody.unsqueeze(1).expand({ranks, 4})), "all-to-all");
}

void check_transfers(World& world) {
  Tensors out{world.full({100000}, world.rank)}, in{torch::empty({100000}, world.on_gpu())};
  if (world.rank == 0) {
    world.group->send(out, 1, 0)->wait();
    world.group->recv(in, 1, 0)->wait();
  } else if (world.rank == 1) {
    world.group->recv(in, 0, 0)->wait();
    world.group->send(out, 0, 0)->wait();
  }
  if (world.rank < 2) world.check(in[0].eq(1 - world.rank).all().item<bool>(), "send and receive");
  world.group->barrier()->wait();
}

void check_split(World& world) {
  const int half = world.rank % 2, members = (world.ranks + 1 - half) / 2;
  auto options = ProcessGroupNCCL::Options::create();
  options->timeout = world.options->timeout;
  options->group_name = "half";
  options->split_from = world.group;
  options->split_color = half + 1;
  auto store = c10::make_intrusive<c10d::PrefixStore>("half" + std::to_string(half), world.store);
  auto group = c10::make_intrusive<ProcessGroupNCCL>(store, world.rank / 2, members, options);
  group->setBoundDeviceId(world.gpu);
  group->eagerConnectSingleDevice(world.gpu);
  Tensors t{world.full({9}, 1)};
  group->allreduce(t)->wait();
  world.check(t[0].eq(members).all().item<bool>(), "all-reduce of a split");
  group->shutdown();
}

// A result that is read before wait() is a race, and after it is none.
void check_races(World& world) {
  Tensors t{world.full({1000}, world.rank)};
  const auto before = softcudaRaces();
  auto work = world.group->allreduce(t);
  t[0].sum();
  const auto early = softcudaRaces() - before;
  work->wait();
  const auto late = t[0].sum().item<float>();
  world.check(early > 0, "the race before wait()");
  world.check(softcudaRaces() - before == early, "the order after wait()");
  world.check(int(late) == 1000 * world.ranks * (world.ranks - 1) / 2, "the sum after wait()");
}

void expect_success(const std::vector<RankResult>& results) {
  for (size_t r = 0; r < results.size(); ++r) {
    EXPECT_EQ(results[r].exit_code, 0)
        << "rank " << r << ", signal " << results[r].signal << ": " << results[r].errors;
  }
}

TEST(Groups, FourRanks) {
  expect_success(run_ranks(4, [](int rank, const std::string& store) {
    World world(rank, 4, store);
    check_collectives(world);
    check_transfers(world);
    check_split(world);
    world.check(softcudaRaces() == 0, "the absence of races");
    check_races(world);
    world.group->shutdown();
    return world.failures;
  }));
}

// A mismatch, a death and a silence, each seen by libtorch's watchdog.

TEST(Groups, MismatchNamesBothCalls) {
  const auto results = run_ranks(2, [](int rank, const std::string& store) {
    World world(rank, 2, store);
    Tensors t{world.full({4 + rank}, 1)};
    world.group->allreduce(t)->wait();
    c10::cuda::device_synchronize();
    return 0;
  });
  EXPECT_NE(results[0].exit_code, 0);
  EXPECT_THAT(results[0].errors, HasSubstr("softcuda: communicator /softnccl-"));
  EXPECT_THAT(results[0].errors,
              HasSubstr("rank 0 calls ncclAllReduce of 4 float32 (operation 0, root 0), but rank 1 "
                        "calls ncclAllReduce of 5 float32 (operation 0, root 0)"));
}

TEST(Groups, DeadPeerIsARemoteError) {
  setenv("SOFTCUDA_PEER_DEATH", "100", 1);
  const auto results = run_ranks(2, [](int rank, const std::string& store) {
    World world(rank, 2, store);
    Tensors t{world.full({4}, 1)};
    world.group->allreduce(t)->wait();
    c10::cuda::device_synchronize();
    if (rank == 1) raise(SIGKILL);
    world.group->allreduce(t)->wait();
    c10::cuda::device_synchronize();
    return 0;
  });
  unsetenv("SOFTCUDA_PEER_DEATH");
  EXPECT_NE(results[0].exit_code, 0);
  EXPECT_THAT(results[0].errors, HasSubstr("is in error: rank 1 (process "));
  EXPECT_THAT(results[0].errors, HasSubstr("remote process exited or there was a network error"));
}

TEST(Groups, SilentPeerIsTheWatchdogs) {
  setenv("SOFTCUDA_PEER_DEATH", "silence", 1);
  const auto results = run_ranks(2, [](int rank, const std::string& store) {
    World world(rank, 2, store, /*seconds=*/2);
    if (rank == 1) raise(SIGKILL);
    Tensors t{world.full({4}, 1)};
    world.group->allreduce(t)->wait();
    c10::cuda::device_synchronize();
    return 0;
  });
  unsetenv("SOFTCUDA_PEER_DEATH");
  EXPECT_NE(results[0].exit_code, 0);
  EXPECT_THAT(results[0].errors, HasSubstr("ran for"));
  EXPECT_THAT(results[0].errors, testing::Not(HasSubstr("is in error")));
}

// NCCL itself, without libtorch. The name of the communicator is what the ranks agree on.

ncclComm_t connect(int rank, int ranks, const std::string& store) {
  ncclUniqueId id = {};
  std::snprintf(id.internal, sizeof id.internal, "/softnccl-test-%08zx",
                std::hash<std::string>()(store));
  cudaSetDevice(rank);
  ncclComm_t communicator = nullptr;
  return ncclCommInitRank(&communicator, ranks, id, rank) == ncclSuccess ? communicator : nullptr;
}

TEST(Nccl, SplitIsCollectiveAlsoForThoseWithoutAColor) {
  expect_success(run_ranks(3, [](int rank, const std::string& store) {
    const ncclComm_t world = connect(rank, 3, store);
    ncclComm_t part = nullptr;
    const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 5;
    if (ncclCommSplit(world, color, -rank, &part, nullptr) != ncclSuccess) return 1;
    if (rank == 1) return part == nullptr ? 0 : 2;
    int my_rank = -1, ranks = -1;
    ncclCommUserRank(part, &my_rank);
    ncclCommCount(part, &ranks);
    return ranks == 2 && my_rank == (rank == 0 ? 1 : 0) ? 0 : 3;  // the key turns the order around
  }));
}

TEST(Nccl, AbortEndsAWaitingTask) {
  expect_success(run_ranks(2, [](int rank, const std::string& store) {
    const ncclComm_t world = connect(rank, 2, store);
    if (rank == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(500)), 0;
    float* p = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&p), 16);
    if (ncclAllReduce(p, p, 4, ncclFloat32, ncclSum, world, nullptr) != ncclSuccess) return 1;
    if (cudaStreamQuery(nullptr) != cudaErrorNotReady) return 2;
    if (ncclCommAbort(world) != ncclSuccess) return 3;
    return cudaStreamSynchronize(nullptr) == cudaSuccess ? 0 : 4;
  }));
}

TEST(Nccl, TwoRanksOnOneGpuAreRefused) {
  const auto results = run_ranks(2, [](int rank, const std::string& store) {
    cudaSetDevice(0);
    ncclUniqueId id = {};
    std::snprintf(id.internal, sizeof id.internal, "/softnccl-test-%08zx",
                  std::hash<std::string>()(store));
    ncclComm_t communicator = nullptr;
    return ncclCommInitRank(&communicator, 2, id, rank) == ncclInvalidUsage ? 0 : 1;
  });
  expect_success(results);
  EXPECT_THAT(results[0].errors, HasSubstr("softcuda: communicator /softnccl-test-"));
  EXPECT_THAT(results[0].errors, HasSubstr("Duplicate GPU detected"));
}

TEST(Nccl, BufferOfTheHostIsNamed) {
  const auto results = run_ranks(1, [](int rank, const std::string& store) {
    const ncclComm_t world = connect(rank, 1, store);
    float host[4] = {};
    return ncclAllReduce(host, host, 4, ncclFloat32, ncclSum, world, nullptr) == ncclInvalidArgument
               ? 0
               : 1;
  });
  expect_success(results);
  EXPECT_THAT(results[0].errors,
              HasSubstr("softcuda: ncclAllReduce of rank 0 on stream 0 has the send buffer that is "
                        "not memory of GPU 0"));
}

TEST(Nccl, ReceiveOfAnotherSizeIsAMismatch) {
  const auto results = run_ranks(2, [](int rank, const std::string& store) {
    const ncclComm_t world = connect(rank, 2, store);
    float* p = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&p), 64);
    if (rank == 0)
      return ncclSend(p, 4, ncclFloat32, 1, world, nullptr), cudaDeviceSynchronize(), 0;
    ncclRecv(p, 5, ncclFloat32, 0, world, nullptr);
    ncclResult_t error = ncclSuccess;
    while (error == ncclSuccess) ncclCommGetAsyncError(world, &error);
    ncclCommAbort(world);
    return error == ncclInvalidUsage ? 0 : 1;
  });
  expect_success(results);
  EXPECT_THAT(results[1].errors,
              HasSubstr("rank 1 calls ncclRecv of 20 more bytes, but rank 0 sends 16"));
}

}  // namespace
