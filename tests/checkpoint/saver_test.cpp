// Saves behind the steps of several ranks: what is saved is the state at the beginning of the save, copies share
// the work, a disk that is full on one rank costs a checkpoint and nothing else, and a damaged one is passed over.

#include "shoal/checkpoint/saver.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include <sys/resource.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/checkpoint/resume.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/format.h"
#include "shoal/plan/layout.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/verify/side.h"

#include "tests/support/error_text.h"
#include "tests/support/no_more_files.h"
#include "tests/support/run_ranks.h"
#include "tests/support/shared_dir.h"

namespace shoal::checkpoint {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using tests::error_text;
using verify::Side;

struct OnRank {
  comm::World& world;
  Side& side;

  [[nodiscard]] TrainingState state() const { return {world, side.model()}; }

  void take_step(int64_t step) const {
    (void)side.gradients_of(step);
    (void)side.update();
  }

  // As a run does after each step.
  void advance(Saver& saver) const {
    const SaveStatus mine = saver.status();
    SaveStatus all;
    all.busy = world.control().any(mine.busy, "busy");
    all.failed = world.control().any(mine.failed, "failed");
    saver.advance(all);
  }
};

template <class Body>
void on_ranks(int count, const std::vector<std::string>& layout, const Body& body) {
  tests::run_ranks(count, [&](const cluster::Membership& me,
                              const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
    std::vector<std::string> sets = {"train.batch=7",     "train.precision=fp64", "train.steps=100",
                                     "model.context=11",  "model.vocab_size=97",  "model.layers=3",
                                     "model.width=24",    "model.heads=3",        "model.hidden=41",
                                     "optimizer.lr=0.01", "optimizer.warmup=0"};
    sets.insert(sets.end(), layout.begin(), layout.end());
    const config::RunConfig config =
        config::load_or_throw({.sets = sets, .job = config::JobSize{count, count}});
    {
      const parallel::Ranks ranks(*world, config);
      Side side(config, ranks);
      body(OnRank{*world, side});
    }
    world->leave();
  });
}

std::vector<std::byte> bytes_in(const fs::path& path, const state::TensorSpec& tensor) {
  std::vector<std::byte> bytes(state::tensor_bytes(tensor.dtype, tensor.shape));
  state::Checkpoint(path).read(tensor.name, bytes);
  return bytes;
}

void expect_same(const fs::path& a, const fs::path& b) {
  const state::Checkpoint left(a);
  ASSERT_EQ(left.tensors(), state::Checkpoint(b).tensors());
  for (const state::TensorSpec& tensor : left.tensors())
    EXPECT_EQ(bytes_in(a, tensor), bytes_in(b, tensor)) << tensor.name;
}

TEST(Saver, SavesTheStateAtItsBeginningWhileStepsGoOn) {
  const tests::SharedDir dir("SHOAL_SAVER_BEGINNING");
  on_ranks(3, {"parallel.sharding=full_shard"}, [&](const OnRank& rank) {
    rank.take_step(0);
    const fs::path waited = save(dir / "waited", 1, rank.state(), {{"a", "b"}});
    Saver saver(rank.world, dir / "behind");
    saver.prepare(rank.state());
    std::string told;
    saver.begin(1, rank.state(), {{"a", "b"}},
                {.after = [&](const SavedCheckpoint& saved) { told = saved.path.string(); }});
    EXPECT_FALSE(saver.idle());
    int steps = 1;
    for (; !saver.idle(); ++steps) {
      rank.take_step(steps);
      rank.advance(saver);
    }
    EXPECT_GT(steps, 3);  // written, looked at, committed
    EXPECT_EQ(told, rank.world.rank() == 0 ? (dir / "behind/step-000000001").string() : "");
    if (rank.world.rank() == 0) {
      expect_same(waited, dir / "behind/step-000000001");
      EXPECT_EQ(state::Checkpoint(waited).values().at("a"), "b");
    }
  });
}

TEST(Saver, CopiesShareTheWork) {
  const tests::SharedDir dir("SHOAL_SAVER_COPIES");
  on_ranks(3, {"parallel.sharding=no_shard"}, [&](const OnRank& rank) {
    const fs::path path = save(dir.path(), 1, rank.state(), {});
    if (rank.world.rank() != 0) return;
    const state::Checkpoint checkpoint(path);
    ASSERT_EQ(checkpoint.files().size(), 3U);
    uint64_t most = 0;
    uint64_t all = 0;
    for (const state::DataFile& file : checkpoint.files()) {
      most = std::max(most, file.bytes - file.header_bytes);
      all += file.bytes - file.header_bytes;
    }
    EXPECT_LT(static_cast<double>(most), 1.05 * static_cast<double>(all) / 3);
    std::cout << format("of {} bytes the fullest of three copies writes {}\n", all, most);
  });
}

// Files of one rank may not grow: as on a host whose disk is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : on_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    struct rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    (void)::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, on_signal_);
  }

 private:
  struct rlimit before_ {};
  sighandler_t on_signal_;
};

TEST(Saver, ADiskThatIsFullOnOneRankCostsOneCheckpoint) {
  const tests::SharedDir dir("SHOAL_SAVER_FULL");
  on_ranks(3, {"parallel.sharding=full_shard"}, [&](const OnRank& rank) {
    Saver saver(rank.world, dir.path());
    saver.begin(1, rank.state(), {});
    saver.finish();
    rank.take_step(0);
    {
      std::optional<FullDisk> full;
      if (rank.world.rank() == 1) full.emplace(5000);
      saver.begin(2, rank.state(), {});
      for (int step = 1; !saver.idle(); ++step) {
        rank.take_step(step);
        rank.advance(saver);
      }
      EXPECT_THAT(error_text<DataError>([&] { (void)save(dir.path(), 3, rank.state(), {}); }),
                  HasSubstr("rank-00001-00000.safetensors: File too large"));
    }
    if (rank.world.rank() == 0) {
      EXPECT_EQ(state::latest(dir.path())->step, 1U);
      EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
    }
    rank.world.control().barrier("looked");
    saver.begin(4, rank.state(), {});
    saver.finish();
    EXPECT_EQ(state::latest(dir.path())->step, 4U);
  });
}

TEST(Resume, PassesOverADamagedCheckpoint) {
  const tests::SharedDir dir("SHOAL_RESUME_DAMAGED");
  on_ranks(3, {"parallel.sharding=full_shard"}, [&](const OnRank& rank) {
    EXPECT_FALSE(has_checkpoint(rank.world, dir.path()));
    const fs::path first = save(dir.path(), 1, rank.state(), {{"number", "1"}});
    rank.take_step(0);
    const fs::path second = save(dir.path(), 2, rank.state(), {{"number", "2"}});
    if (rank.world.rank() == 0) {
      // The last byte of the last rank's file: only that rank reads it.
      const fs::path file = second / "rank-00002-00000.safetensors";
      std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
      damage.seekg(-1, std::ios::end);
      const int last = damage.get();
      damage.seekp(-1, std::ios::end);
      damage.put(static_cast<char>(last ^ 1));
    }
    rank.world.control().barrier("damaged");
    EXPECT_TRUE(has_checkpoint(rank.world, dir.path()));
    std::vector<uint64_t> asked;
    const Described from = resume_newest(
        dir.path(), rank.state(), [&](const Described& found) { asked.push_back(found.step); });
    EXPECT_EQ(from.step, 1U);
    EXPECT_EQ(from.values.at("number"), "1");
    EXPECT_THAT(asked, ::testing::ElementsAre(2U, 1U));
    const fs::path again = save(dir / "again", 1, rank.state(), {});
    if (rank.world.rank() == 0) {
      expect_same(first, again);
      fs::resize_file(first / state::kCheckpointManifest, 10);
    }
    rank.world.control().barrier("compared");
    EXPECT_TRUE(has_checkpoint(rank.world, dir.path()));  // nobody begins anew over these
    EXPECT_THAT(error_text<DataError>(
                    [&] { (void)resume_newest(dir.path(), rank.state(), [](const auto&) {}); }),
                HasSubstr("none of the 2 checkpoints"));
  });
}

TEST(Resume, DoesNotGoBackBecauseAFileSystemFails) {
  const tests::SharedDir dir("SHOAL_RESUME_STORAGE");
  on_ranks(3, {"parallel.sharding=full_shard"}, [&](const OnRank& rank) {
    (void)save(dir.path(), 1, rank.state(), {});
    rank.take_step(0);
    (void)save(dir.path(), 2, rank.state(), {});
    std::optional<tests::NoMoreFiles> limit;
    std::optional<ExitCode> code;
    try {
      (void)resume_newest(dir.path(), rank.state(), [&](const Described& /*found*/) {
        if (rank.world.rank() == 1) limit.emplace();
      });
    } catch (const DataError& error) {
      code = error.exit_code();
    }
    limit.reset();
    EXPECT_EQ(code, ExitCode::kStorage);
    EXPECT_EQ(resume_newest(dir.path(), rank.state(), [](const auto&) {}).step, 2U);
  });
}

// Each rank has a copy of the checkpoint, and a manifest that nobody could read stands in those of ranks 1 and 2.
TEST(Resume, OneRankReadsTheManifestForAll) {
  const tests::SharedDir dir("SHOAL_RESUME_MANIFEST");
  on_ranks(3, {"parallel.sharding=full_shard"}, [&](const OnRank& rank) {
    const fs::path saved = save(dir / "checkpoints", 1, rank.state(), {{"number", "1"}});
    const fs::path mine = dir / format("of-rank-{}", rank.world.rank());
    fs::create_directories(mine);
    fs::copy(dir / "checkpoints", mine / "checkpoints", fs::copy_options::recursive);
    fs::current_path(mine);
    if (rank.world.rank() != 0)
      std::ofstream(fs::path("checkpoints") / saved.filename() / state::kCheckpointManifest)
          << "torn";
    rank.take_step(0);
    const Described from = resume_newest("checkpoints", rank.state(), [](const auto&) {});
    EXPECT_EQ(from.values.at("number"), "1");
    const fs::path again = save(dir / "again", 1, rank.state(), {});
    if (rank.world.rank() == 0) expect_same(saved, again);
  });
}

}  // namespace
}  // namespace shoal::checkpoint
