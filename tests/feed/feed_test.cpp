#include "shoal/feed/feed.h"

#include <functional>
#include <numeric>

#include <fcntl.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/core/error.h"

#include "tests/data/loader/data_set.h"
#include "tests/support/error_text.h"
#include "tests/support/run_ranks.h"

namespace shoal::feed {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using tests::TempDir;

constexpr uint32_t kLength = 19;
const data::TokenLayout kLayout{.tokenizer = "t", .vocab_size = 1009, .loss_mask = true};

std::shared_ptr<data::SampleStream> open_stream(const std::string& directory) {
  return std::make_shared<data::SampleStream>(data::StreamOptions{
      .sources = {{directory, 1}}, .sequence_length = kLength, .seed = 3, .window_shards = 2});
}

// Runs body(world, directory of a data set) on every rank.
void with_data(int ranks,
               const std::function<void(comm::World&, const std::string& directory)>& body) {
  const TempDir directory;  // the launching process's; its ranks are told the path
  tests::run_ranks(ranks,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(
                         me, environment,
                         {.backend = config::Backend::kGloo, .deadline = 30s, .rendezvous = 30s});
                     const std::string path = *environment.get("FEED_TEST_DIRECTORY");
                     if (me.rank == 0)
                       data::write_data_set(path, kLayout, data::random_shards(5, 1009, 1));
                     world->control().barrier("data is there");
                     body(*world, path);
                     world->leave();
                   },
                   {.environment = {{"FEED_TEST_DIRECTORY", directory.path().string()}}});
}

bool same(const TokenBatch& a, const TokenBatch& b) {
  return a.first_sample == b.first_sample && a.tokens.equal(b.tokens) &&
         a.loss_mask.equal(b.loss_mask) && a.document_lengths == b.document_lengths;
}

// Two data-parallel slices; the ranks of each need the same batches.
TEST(Feed, LeaderAndEveryRankGiveTheSameBatches) {
  for (const int ranks : {2, 4, 6}) {
    with_data(ranks, [](comm::World& world, const std::string& directory) {
      const int half = world.size() / 2;
      const int slice = world.rank() / half;
      std::vector<int> mine(static_cast<size_t>(half));
      std::iota(mine.begin(), mine.end(), slice * half);
      const comm::Group peers = world.group("peers", mine);
      const data::LoaderOptions loading{
          .global_batch = 7, .rank = slice, .world_size = 2, .first_sample = 21};
      Feed by_leader(open_stream(directory), loading, {.peers = peers});
      Feed by_all(open_stream(directory), loading, {.peers = peers});
      for (int step = 0; step < 40; ++step) {
        ASSERT_TRUE(same(by_leader.next(), by_all.next())) << step;
        ASSERT_EQ(by_leader.next_sample(), by_all.next_sample());
      }
      EXPECT_EQ(by_all.next_sample(), 21U + 40 * 7);
    });
  }
}

TEST(Feed, ADamagedShardIsToldToAllPeers) {
  with_data(3, [](comm::World& world, const std::string& directory) {
    const comm::Group peers = world.group("peers", {0, 1, 2});
    Feed feed(open_stream(directory), {.global_batch = 3}, {.peers = peers});
    world.control().barrier("before the damage");
    if (world.rank() == 0) {
      for (uint64_t number = 0; number < 5; ++number) {
        const std::filesystem::path path =
            std::filesystem::path(directory) / data::shard_file(data::Split::kTrain, number);
        std::string bytes = read_file(path, 1 << 24);
        // In place: the file is mapped, and a new one would not be seen.
        for (size_t at = 800; at < bytes.size() - 800; ++at) bytes[at] = '\x7f';
        const int fd = ::open(path.c_str(), O_WRONLY);
        EXPECT_EQ(::pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
        ::close(fd);
      }
    }
    const std::string text = tests::error_text<DataError>([&] {
      // Batches that were read ahead are still good.
      for (int step = 0; step < 1000; ++step) feed.next();
    });
    EXPECT_THAT(text, HasSubstr("is damaged"));
  });
}

}  // namespace
}  // namespace shoal::feed
