#include "shoal/checkpoint/resume.h"

#include <algorithm>
#include <optional>
#include <thread>

#include <ATen/ATen.h>

#include "shoal/checkpoint/from_first_rank.h"
#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/together.h"
#include "shoal/comm/texts.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/state/checkpoint_writer.h"

namespace shoal::checkpoint {
namespace {

namespace fs = std::filesystem;

// How long a file system of several hosts may show rank 0 an older directory than it shows others.
constexpr Duration kStaleView = std::chrono::seconds(60);
constexpr Duration kBetweenLooks = std::chrono::milliseconds(100);

// Returns the step of the newest checkpoint that this process sees; -1 when it sees none.
int64_t newest_in(const fs::path& root) {
  const std::vector<state::CommittedCheckpoint> found = state::candidates_in(root);
  return found.empty() ? -1 : static_cast<int64_t>(found.back().step);
}

// Returns the same of the host that sees most; one rank of each looks.
int64_t newest_seen(comm::World& world, const fs::path& root) {
  const at::Tensor newest = at::full({1}, -1, at::kLong);
  together(world, "the newest checkpoint", [&] {
    if (world.membership().local_rank == 0) *newest.mutable_data_ptr<int64_t>() = newest_in(root);
  });
  world.control().all_reduce(newest, comm::Reduce::kMax, "the newest checkpoint");
  return *newest.const_data_ptr<int64_t>();
}

// A run must not begin anew, or go back, because the host of rank 0 has not yet heard of a checkpoint.
void wait_until_seen(const fs::path& root, int64_t step, Duration patience) {
  if (newest_in(root) >= step) return;
  const std::string path = (root / state::step_directory(static_cast<uint64_t>(step))).string();
  log::warn("other ranks see {}, but rank 0 does not: it looks again for {}", path,
            format_duration(patience));
  const Clock::time_point until = Clock::now() + patience;
  while (newest_in(root) < step) {
    if (Clock::now() > until)
      throw DataError(
          format("other ranks see {}, but rank 0 does not: its host has an old view of this file "
                 "system, or another one mounted",
                 path));
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// Returns the checkpoints that rank 0 sees, newest first; opening them shows which are valid.
std::vector<fs::path> candidates(comm::World& world, const fs::path& root) {
  std::string mine;
  const int64_t newest = newest_seen(world, root);
  together(world, "which checkpoints there are", [&] {
    if (world.rank() != 0) return;
    wait_until_seen(root, newest, std::min(kStaleView, world.deadline() / 2));
    for (const state::CommittedCheckpoint& one : state::candidates_in(root))
      mine = one.path.string() + "\n" + mine;
  });
  const std::string text = comm::text_of_first(world, mine, "which checkpoints there are");
  std::vector<fs::path> paths;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    paths.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

// Returns the manifest on all ranks; rank 0 reads it, because a large job's has megabytes.
state::CheckpointManifest manifest_of(comm::World& world, const fs::path& path) {
  std::string mine;
  together(world, "opening a checkpoint", [&] {
    if (world.rank() == 0) mine = state::to_json(state::read_manifest(path));
  });
  const std::string text = comm::text_of_first(world, mine, "the manifest of a checkpoint");
  return state::manifest_from_json(text, path.string());
}

// Opens a checkpoint with the index of all files; this rank reads the headers of its share.
state::Checkpoint open_together(comm::World& world,
                                const fs::path& path,
                                const state::CheckpointManifest& manifest) {
  const state::FileShare share{.first = static_cast<size_t>(world.rank()),
                               .step = static_cast<size_t>(world.size())};
  std::optional<state::Checkpoint> checkpoint;
  std::string mine;
  together(world, "opening a checkpoint", [&] {
    checkpoint.emplace(path, manifest, share);
    mine = checkpoint->read_index(share).packed();
  });
  const std::vector<std::string> texts = comm::all_texts(world, mine, "where pieces lie");
  together(world, "the index of a checkpoint", [&] {
    state::PieceIndex index(checkpoint->manifest());
    for (const std::string& text : texts) index.add_packed(text);
    checkpoint->use_index(std::move(index));
  });
  return std::move(*checkpoint);
}

void load_shared(const fs::path& path,
                 const state::CheckpointManifest& manifest,
                 const TrainingState& state) {
  const state::Checkpoint checkpoint = open_together(state.world, path, manifest);
  together(state.world, "loading a checkpoint", [&] { load(checkpoint, state); });
}

void load_unshared(const fs::path& path,
                   const state::CheckpointManifest& manifest,
                   const TrainingState& state) {
  std::optional<state::Checkpoint> checkpoint;
  together(state.world, "opening a checkpoint", [&] {
    if (state.world.rank() == 0) checkpoint.emplace(path, manifest);
  });
  const at::NoGradGuard no_grad;
  load_from_first_rank(state.world, checkpoint ? &*checkpoint : nullptr, manifest, held_by(state));
}

// Returns whether every host sees the checkpoint; one rank of each looks.
bool all_see(comm::World& world, const fs::path& path) {
  std::error_code ignored;
  const bool seen =
      world.membership().local_rank != 0 || fs::exists(path / state::kCheckpointManifest, ignored);
  return !world.control().any(!seen, "who sees a checkpoint");
}

Described load_one(const fs::path& path,
                   const TrainingState& state,
                   const std::function<void(const Described&)>& accept) {
  const state::CheckpointManifest manifest = manifest_of(state.world, path);
  Described found{path, manifest.step, manifest.values};
  accept(found);
  if (all_see(state.world, path)) {
    load_shared(path, manifest, state);
  } else {
    if (state.world.rank() == 0)
      log::info("{} is not seen by all ranks: rank 0 reads it for them", path.string());
    load_unshared(path, manifest, state);
  }
  return found;
}

Described load_newest(const fs::path& root,
                      const TrainingState& state,
                      const std::function<void(const Described&)>& accept) {
  const std::vector<fs::path> paths = candidates(state.world, root);
  std::string why;  // of the newest
  for (const fs::path& path : paths) {
    try {
      return load_one(path, state, accept);
    } catch (const DataError& error) {
      // Nothing is wrong with the checkpoint itself: going back would throw steps away.
      if (error.exit_code() == ExitCode::kStorage) throw;
      if (why.empty()) why = error.what();
      if (state.world.rank() == 0)
        log::warn("{} cannot be loaded, trying the one before: {}", path.string(), error.what());
    }
  }
  throw DataError(format(
      "none of the {} checkpoints in {} can be loaded, the newest because {}: go on with the "
      "config of that run, or start one with another name",
      paths.size(), root.string(), why));
}

}  // namespace

bool has_checkpoint(comm::World& world, const fs::path& root) {
  return !candidates(world, root).empty();
}

Described resume_newest(const fs::path& root,
                        const TrainingState& state,
                        const std::function<void(const Described&)>& accept) {
  Described loaded;
  state.model.set_masters([&] { loaded = load_newest(root, state, accept); });
  return loaded;
}

}  // namespace shoal::checkpoint
