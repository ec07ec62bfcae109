#include "shoal/checkpoint/resume.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>

#include "shoal/checkpoint/from_first_rank.h"
#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/together.h"
#include "shoal/comm/texts.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"

namespace shoal::checkpoint {
namespace {

namespace fs = std::filesystem;

// Returns the checkpoints that rank 0 sees, newest first; opening them shows which are valid.
std::vector<fs::path> candidates(comm::World& world, const fs::path& root) {
  std::string mine;
  together(world, "which checkpoints there are", [&] {
    if (world.rank() != 0) return;
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

Described described(const fs::path& path, const state::CheckpointManifest& manifest) {
  return {path, manifest.step, manifest.values};
}

// Opens a checkpoint with the index of all files; this rank reads the headers of its share.
state::Checkpoint open_together(comm::World& world, const fs::path& path) {
  const state::FileShare share{.first = static_cast<size_t>(world.rank()),
                               .step = static_cast<size_t>(world.size())};
  std::optional<state::Checkpoint> checkpoint;
  std::string mine;
  together(world, "opening a checkpoint", [&] {
    checkpoint.emplace(path, share);
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

Described load_shared(const fs::path& path,
                      const TrainingState& state,
                      const std::function<void(const Described&)>& accept) {
  const state::Checkpoint checkpoint = open_together(state.world, path);
  Described found = described(path, checkpoint.manifest());
  accept(found);
  together(state.world, "loading a checkpoint", [&] { load(checkpoint, state); });
  return found;
}

Described load_unshared(const fs::path& path,
                        const TrainingState& state,
                        const std::function<void(const Described&)>& accept) {
  comm::World& world = state.world;
  std::optional<state::Checkpoint> checkpoint;
  together(world, "opening a checkpoint", [&] {
    if (world.rank() == 0) checkpoint.emplace(path);
  });
  const std::string text = comm::text_of_first(
      world, checkpoint ? state::to_json(checkpoint->manifest()) : "", "a manifest");
  const state::CheckpointManifest manifest = state::manifest_from_json(text, path.string());
  Described found = described(path, manifest);
  accept(found);
  const at::NoGradGuard no_grad;
  load_from_first_rank(world, checkpoint ? &*checkpoint : nullptr, manifest, held_by(state));
  return found;
}

Described load_one(const fs::path& path,
                   const TrainingState& state,
                   const std::function<void(const Described&)>& accept) {
  std::error_code ignored;
  const bool seen = fs::exists(path / state::kCheckpointManifest, ignored);
  if (!state.world.control().any(!seen, "who sees a checkpoint"))
    return load_shared(path, state, accept);
  if (state.world.rank() == 0)
    log::info("{} is not seen by all ranks: rank 0 reads it for them", path.string());
  return load_unshared(path, state, accept);
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
