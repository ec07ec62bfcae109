// A checkpoint of any layout resumes on any other: its tensors are equal to the bit, and the losses
// after it are those of the uninterrupted run.

#include <cstdio>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "shoal/checkpoint/from_first_rank.h"
#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/resume.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/config/load.h"
#include "shoal/core/files.h"
#include "shoal/core/format.h"
#include "shoal/plan/layout.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/verify/side.h"

#include "tests/support/growth.h"
#include "tests/support/planned_pieces.h"
#include "tests/support/run_ranks.h"
#include "tests/support/shared_dir.h"

namespace shoal::verify {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;
using Sets = std::vector<std::string>;

constexpr int64_t kBefore = 3;  // steps before the checkpoint
constexpr int64_t kAfter = 3;

struct Layout {
  int ranks;
  Sets sets;
};

// All strategies, 1 to 8 ranks.
const std::vector<Layout> kLayouts = {
    {1, {}},
    {2, {"parallel.sharding=no_shard"}},
    {2, {"parallel.sharding=full_shard", "train.micro_batch=2"}},
    {2, {"parallel.tp=2"}},
    {2, {"parallel.pp=2", "train.micro_batch=2"}},
    {3, {"parallel.sharding=optimizer"}},
    {3, {"parallel.pp=3", "parallel.schedule=gpipe", "train.micro_batch=1"}},
    {4, {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"}},
    {4, {"parallel.tp=2", "parallel.pp=2", "train.micro_batch=2"}},
    {4, {"parallel.tp=2", "parallel.sharding=shard_grad_op"}},
    {6, {"parallel.pp=2", "parallel.sharding=full_shard", "train.micro_batch=1"}},
    {8, {"parallel.tp=2", "parallel.pp=2", "parallel.sharding=full_shard", "train.micro_batch=1"}},
};

config::RunConfig config_of(const Layout& layout) {
  Sets sets = {"train.batch=7",     "train.precision=fp64", "train.steps=6",
               "optimizer.lr=0.01", "optimizer.warmup=2",   "optimizer.clip=0.5",
               "model.context=19",  "model.vocab_size=251", "model.layers=5",
               "model.width=24",    "model.heads=3",        "model.hidden=41",
               "model.dropout=0.1", "model.init_std=0.2"};
  sets.insert(sets.end(), layout.sets.begin(), layout.sets.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{layout.ranks, layout.ranks}});
}

fs::path root_of(const fs::path& all, size_t layout) { return all / std::to_string(layout); }

template <class Body>
void on_ranks(const Layout& layout, const Body& body) {
  tests::run_ranks(
      layout.ranks, [&](const cluster::Membership& me, const cluster::Environment& environment) {
        const auto world = comm::World::join(
            me, environment,
            {.backend = layout.ranks == 1 ? config::Backend::kLocal : config::Backend::kGloo,
             .deadline = 60s,
             .rendezvous = 60s});
        body(*world);
        world->leave();
      });
}

// Trains, saves, and trains on; writes the losses after the checkpoint beside it.
void train_and_save(const Layout& layout, const fs::path& root) {
  on_ranks(layout, [&](comm::World& world) {
    const config::RunConfig config = config_of(layout);
    const parallel::Ranks ranks(world, config);
    Side side(config, ranks);
    for (int64_t step = 0; step < kBefore; ++step) {
      side.gradients_of(step);
      side.update();
    }
    checkpoint::save(root, kBefore, {world, side.model()}, {});
    std::string losses;
    for (int64_t step = kBefore; step < kBefore + kAfter; ++step) {
      losses += format("{:.17g}\n", side.gradients_of(step).item<double>());
      side.update();
    }
    if (world.rank() == 0) std::ofstream(root / "losses") << losses;
  });
}

std::vector<double> losses_in(const fs::path& root) {
  std::ifstream file(root / "losses");
  std::vector<double> losses;
  for (double loss = 0; file >> loss;) losses.push_back(loss);
  return losses;
}

// Compares every logical tensor of two checkpoints, byte by byte.
void expect_same_tensors(const fs::path& a, const fs::path& b) {
  const state::Checkpoint left(a / state::step_directory(kBefore));
  const state::Checkpoint right(b / state::step_directory(kBefore));
  ASSERT_EQ(left.tensors().size(), right.tensors().size());
  EXPECT_GT(left.tensors().size(), 100U);
  for (const state::TensorSpec& tensor : left.tensors()) {
    std::vector<std::byte> mine(state::tensor_bytes(tensor.dtype, tensor.shape));
    std::vector<std::byte> theirs(mine.size());
    left.read(tensor.name, mine);
    right.read(tensor.name, theirs);
    EXPECT_EQ(mine, theirs) << tensor.name;
  }
}

// Checks that ranks write the pieces that plan/ predicts, so that checkpoints of larger layouts can
// be planned.
void expect_planned_pieces(const Layout& layout, const fs::path& root) {
  const config::RunConfig config = config_of(layout);
  const plan::Mesh mesh = plan::mesh_of(config.parallel, layout.ranks);
  const state::Checkpoint checkpoint(root / state::step_directory(kBefore));
  ASSERT_EQ(checkpoint.files().size(), static_cast<size_t>(layout.ranks));
  for (size_t i = 0; i < checkpoint.files().size(); ++i) {
    const state::DataFile& file = checkpoint.files()[i];
    const std::string header =
        read_file(checkpoint.path() / file.name, size_t{1} << 30).substr(0, file.header_bytes);
    std::set<std::string> written;
    for (const state::PieceInFile& piece :
         state::read_part_header(header, file.bytes, checkpoint.manifest().id, file.name)) {
      const bool is_divided =
          piece.name.starts_with("weights.") || piece.name.find("_moment.") != std::string::npos;
      if (is_divided) written.insert(piece.name + describe(piece.box));
    }
    std::set<std::string> planned;
    for (const state::PieceSpec& piece :
         tests::planned_pieces(config, mesh, static_cast<int>(i), state::DType::kF64))
      planned.insert(piece.name + describe(piece.box));
    EXPECT_EQ(written, planned) << "rank " << i;
  }
}

// Loads on each rank, or through rank 0.
void load(bool shared, const fs::path& root, const checkpoint::TrainingState& state) {
  if (shared) {
    EXPECT_EQ(checkpoint::resume_newest(root, state, [](const auto&) {}).step, kBefore);
    return;
  }
  const state::Checkpoint saved(root / state::step_directory(kBefore));
  state.model.set_masters([&] {
    const at::NoGradGuard no_grad;
    checkpoint::load_from_first_rank(state.world, state.world.rank() == 0 ? &saved : nullptr,
                                     saved.manifest(), checkpoint::held_by(state));
  });
}

// Resumes each layout from the one that stands `apart` places before it in the list.
void resume_from_layouts_before(std::set<size_t> apart) {
  const tests::SharedDir shared("SHOAL_RESHARD_DIRECTORY");
  const fs::path& all = shared.path();
  for (size_t i = 0; i < kLayouts.size(); ++i) {
    train_and_save(kLayouts[i], root_of(all, i));
    SCOPED_TRACE(format("layout {}", i));
    if (shared.is_own()) expect_planned_pieces(kLayouts[i], root_of(all, i));
  }
  for (size_t to = 0; to < kLayouts.size(); ++to) {
    on_ranks(kLayouts[to], [&](comm::World& world) {
      const config::RunConfig config = config_of(kLayouts[to]);
      const parallel::Ranks ranks(world, config);
      double worst = 0;
      for (const size_t places : apart) {
        const size_t from = (to + kLayouts.size() - places) % kLayouts.size();
        SCOPED_TRACE(format("from {} to {}", from, to));
        Side side(config, ranks);
        const checkpoint::TrainingState state{world, side.model()};
        load(from % 2 == 0, root_of(all, from), state);
        const fs::path again = all / format("{}-as-{}", from, to);
        checkpoint::save(again, kBefore, state, {});
        if (world.rank() == 0) expect_same_tensors(root_of(all, from), again);
        const std::vector<double> expected = losses_in(root_of(all, from));
        for (int64_t step = kBefore; step < kBefore + kAfter; ++step) {
          const double loss = side.gradients_of(step).item<double>();
          worst =
              std::max(worst, std::abs(loss - expected.at(static_cast<size_t>(step - kBefore))));
          side.update();
        }
      }
      EXPECT_LE(worst, 1e-12);
      if (world.rank() == 0) {
        std::printf("layout %zu on %d ranks: from %zu others, losses within %.1e\n", to,
                    kLayouts[to].ranks, apart.size(), worst);
        std::fflush(stdout);
      }
    });
  }
}

// The gate resumes each layout from one of the three before it; the nightly run does all 132 pairs.
TEST(Reshard, FromTheLayoutBefore) { resume_from_layouts_before({1}); }

TEST(Reshard, FromTheSecondLayoutBefore) { resume_from_layouts_before({2}); }

TEST(Reshard, FromAllOthers) {
  resume_from_layouts_before(tests::is_nightly() ? std::set<size_t>{3, 4, 5, 6, 7, 8, 9, 10, 11}
                                                 : std::set<size_t>{3});
}

}  // namespace
}  // namespace shoal::verify
