// MPI counts in int: longer calls are split, here with a limit of 7 elements, so that every path
// runs. Its largest tag may be smaller than ours.

#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/comm/mpi/mpi.h"
#include "shoal/comm/transport.h"

#include "tests/support/run_ranks.h"

namespace shoal::comm {
namespace {

at::Tensor numbers(int rank, int64_t size) {
  return at::arange(size, at::kFloat) * 3 + rank * 1000;
}

TEST(MpiSplit, LongCallsGiveTheSameResults) {
  tests::run_ranks(
      3,
      [](const cluster::Membership& me, const cluster::Environment& /*environment*/) {
        const auto transport =
            make_mpi_transport({.rank = me.rank, .world_size = 3, .max_count = 7, .max_tags = 11});
        const auto mpi = transport->make_group({"all", {0, 1, 2}, me.rank}, 0);
        constexpr int64_t kSize = 31;  // five pieces, the last one short
        const at::Tensor sum =
            numbers(0, kSize * 3) + numbers(1, kSize * 3) + numbers(2, kSize * 3);

        std::vector<at::Tensor> x = {numbers(me.rank, kSize)};
        mpi->allreduce(x)->wait();
        EXPECT_TRUE(x[0].equal(sum.narrow(0, 0, kSize)));

        x = {numbers(me.rank, kSize)};
        c10d::BroadcastOptions from_two;
        from_two.rootRank = 2;
        mpi->broadcast(x, from_two)->wait();
        EXPECT_TRUE(x[0].equal(numbers(2, kSize)));

        at::Tensor out = at::zeros({kSize * 3});
        at::Tensor in = numbers(me.rank, kSize);
        mpi->all_gather_single(out, in)->wait();
        EXPECT_TRUE(out.equal(at::cat({numbers(0, kSize), numbers(1, kSize), numbers(2, kSize)})));

        at::Tensor shard = at::zeros({kSize});
        at::Tensor whole = numbers(me.rank, kSize * 3);
        mpi->reduce_scatter_single(shard, whole)->wait();
        EXPECT_TRUE(shard.equal(sum.narrow(0, me.rank * kSize, kSize)));

        std::vector<std::vector<at::Tensor>> gathered;
        at::Tensor table = at::zeros({kSize * 3});
        if (me.rank == 0) gathered.push_back(table.chunk(3));
        std::vector<at::Tensor> mine = {numbers(me.rank, kSize)};
        mpi->gather(gathered, mine)->wait();
        if (me.rank == 0) {
          EXPECT_TRUE(table.equal(out));
        }

        std::vector<std::vector<at::Tensor>> scattered;
        if (me.rank == 0) scattered.push_back(out.chunk(3));
        std::vector<at::Tensor> piece = {at::zeros({kSize})};
        mpi->scatter(piece, scattered)->wait();
        EXPECT_TRUE(piece[0].equal(numbers(me.rank, kSize)));

        at::Tensor swapped = at::zeros({kSize * 3});
        std::vector<int64_t> equal;
        mpi->all_to_all_single(swapped, whole, equal, equal)->wait();
        for (int rank = 0; rank < 3; ++rank) {
          EXPECT_TRUE(swapped.narrow(0, rank * kSize, kSize)
                          .equal(numbers(rank, kSize * 3).narrow(0, me.rank * kSize, kSize)));
        }

        std::vector<at::Tensor> received = {at::zeros({kSize})};
        std::vector<at::Tensor> sent = {numbers(me.rank, kSize)};
        const auto receiving = mpi->recv(received, (me.rank + 2) % 3, 5);
        const auto sending = mpi->send(sent, (me.rank + 1) % 3, 5);
        receiving->wait();
        sending->wait();
        EXPECT_TRUE(received[0].equal(numbers((me.rank + 2) % 3, kSize)));

        // The largest tag of a Group is one of the eleven, and another than its neighbour.
        constexpr int kLargest = (1 << 24) - 1;
        std::vector<at::Tensor> first = {at::zeros({1})};
        std::vector<at::Tensor> second = {at::zeros({1})};
        std::vector<at::Tensor> one = {at::ones({1})};
        std::vector<at::Tensor> two = {at::full({1}, 2.0)};
        const std::vector<c10::intrusive_ptr<c10d::Work>> works = {
            mpi->recv(first, (me.rank + 2) % 3, kLargest),
            mpi->recv(second, (me.rank + 2) % 3, kLargest % 11 - 1),
            mpi->send(two, (me.rank + 1) % 3, kLargest - 1),
            mpi->send(one, (me.rank + 1) % 3, kLargest % 11)};
        for (const auto& work : works) work->wait();
        EXPECT_EQ(first[0].item<float>(), 1);
        EXPECT_EQ(second[0].item<float>(), 2);
        mpi->barrier()->wait();
      },
      {.launcher = tests::Launcher::kMpirun});
}

}  // namespace
}  // namespace shoal::comm
