#include "shoal/plan/schedule.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/core/nearest.h"

namespace shoal::plan {
namespace {

void require_one_chunk(std::string_view name, const PipelineShape& shape) {
  if (shape.chunks == 1) return;
  throw UsageError(
      format("{} runs one chunk per rank, not {}: choose interleaved, or leave chunks at 1", name,
             shape.chunks));
}

// `warmup` forward passes, then a forward and a backward in turn, then the backward passes that are
// left. Both lists have all passes of the rank in order.
std::vector<Action> one_in_one_out(const std::vector<Action>& forward,
                                   const std::vector<Action>& backward,
                                   size_t warmup) {
  warmup = std::min(warmup, forward.size());
  std::vector<Action> actions(forward.begin(), forward.begin() + static_cast<ptrdiff_t>(warmup));
  actions.reserve(forward.size() + backward.size());
  size_t next_backward = 0;
  for (size_t i = warmup; i < forward.size(); ++i) {
    actions.push_back(forward[i]);
    actions.push_back(backward[next_backward++]);
  }
  actions.insert(actions.end(), backward.begin() + static_cast<ptrdiff_t>(next_backward),
                 backward.end());
  return actions;
}

// Sizes of the groups that run through one chunk after the other. With fewer micro-batches than
// ranks, rank 0 is done with a group before its first has come round, so each has at least as many.
// The largest comes first, because the first decides how far forward runs ahead of backward.
std::vector<int> group_sizes(const PipelineShape& shape) {
  const int groups = std::max(1, shape.micro_batches / shape.ranks);
  std::vector<int> sizes(static_cast<size_t>(groups), shape.micro_batches / groups);
  for (int i = 0; i < shape.micro_batches % groups; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

// Forward passes take the chunks upwards; backward passes the same groups, and the chunks
// downwards.
std::vector<Action> in_groups(Op op, const PipelineShape& shape, const std::vector<int>& sizes) {
  std::vector<Action> actions;
  actions.reserve(static_cast<size_t>(shape.micro_batches) * static_cast<size_t>(shape.chunks));
  int first = 0;
  for (const int size : sizes) {
    for (int i = 0; i < shape.chunks; ++i) {
      const int chunk = op == Op::kForward ? i : shape.chunks - 1 - i;
      for (int j = 0; j < size; ++j) actions.push_back({op, first + j, chunk});
    }
    first += size;
  }
  return actions;
}

}  // namespace

void require_possible(const PipelineShape& shape) {
  const auto require = [](std::string_view what, int value, int most) {
    if (value >= 1 && value <= most) return;
    throw UsageError(format("a pipeline of {} {}: there can be 1 to {}", value, what, most));
  };
  require("ranks", shape.ranks, kMaxPipelineRanks);
  require("chunks per rank", shape.chunks, kMaxChunks);
  require("micro-batches", shape.micro_batches, kMaxMicroBatches);
  const int64_t actions = int64_t{kNumOps} * shape.stages() * shape.micro_batches;
  if (actions > kMaxActions) {
    throw UsageError(
        format("{} ranks with {} chunks and {} micro-batches make {} actions, more than the {} of "
               "a schedule: use fewer micro-batches",
               shape.ranks, shape.chunks, shape.micro_batches, actions, kMaxActions));
  }
}

Schedule::Schedule(const PipelineShape& shape, std::vector<std::vector<Action>> actions)
    : shape_(shape),
      actions_(std::make_shared<const std::vector<std::vector<Action>>>(std::move(actions))) {
  require_possible(shape);
  SHOAL_CHECK(actions_->size() == static_cast<size_t>(shape.ranks), "{} lists for {} ranks",
              actions_->size(), shape.ranks);
  for (const std::vector<Action>& list : *actions_) {
    for (const Action& action : list) {
      SHOAL_CHECK(action.micro_batch >= 0 && action.micro_batch < shape.micro_batches,
                  "micro-batch {} of {}", action.micro_batch, shape.micro_batches);
      SHOAL_CHECK(action.chunk >= 0 && action.chunk < shape.chunks, "chunk {} of {}", action.chunk,
                  shape.chunks);
    }
  }
}

bool Schedule::operator==(const Schedule& other) const {
  return shape_ == other.shape_ && *actions_ == *other.actions_;
}

const std::vector<Action>& Schedule::actions(int rank) const {
  SHOAL_CHECK(rank >= 0 && rank < ranks(), "rank {} of {}", rank, ranks());
  return (*actions_)[static_cast<size_t>(rank)];
}

int Schedule::stage_of(int rank, int chunk) const {
  SHOAL_CHECK(rank >= 0 && rank < ranks(), "rank {} of {}", rank, ranks());
  SHOAL_CHECK(chunk >= 0 && chunk < chunks(), "chunk {} of {}", chunk, chunks());
  return chunk * ranks() + rank;
}

int Schedule::rank_of(int stage) const {
  SHOAL_CHECK(stage >= 0 && stage < stages(), "stage {} of {}", stage, stages());
  return stage % ranks();
}

int Schedule::chunk_of(int stage) const {
  SHOAL_CHECK(stage >= 0 && stage < stages(), "stage {} of {}", stage, stages());
  return stage / ranks();
}

Schedule gpipe(const PipelineShape& shape) {
  require_possible(shape);
  require_one_chunk("gpipe", shape);
  std::vector<Action> actions;
  for (const Op op : {Op::kForward, Op::kBackward}) {
    for (int i = 0; i < shape.micro_batches; ++i) actions.push_back({op, i, 0});
  }
  return {shape, std::vector(static_cast<size_t>(shape.ranks), actions)};
}

Schedule one_f_one_b(const PipelineShape& shape) {
  require_one_chunk("1f1b", shape);
  require_possible(shape);
  const std::vector<Action> forward = in_groups(Op::kForward, shape, {shape.micro_batches});
  const std::vector<Action> backward = in_groups(Op::kBackward, shape, {shape.micro_batches});
  std::vector<std::vector<Action>> actions;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int warmup = shape.ranks - 1 - rank;
    actions.push_back(one_in_one_out(forward, backward, static_cast<size_t>(warmup)));
  }
  return {shape, std::move(actions)};
}

Schedule interleaved(const PipelineShape& shape) {
  require_possible(shape);
  if (shape.chunks == 1) {
    throw UsageError(
        "interleaved with one chunk per rank would be 1f1b that keeps more activations: give it 2 "
        "chunks or more, or choose 1f1b");
  }
  const std::vector<int> sizes = group_sizes(shape);
  const std::vector<Action> forward = in_groups(Op::kForward, shape, sizes);
  const std::vector<Action> backward = in_groups(Op::kBackward, shape, sizes);
  std::vector<std::vector<Action>> actions;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    // The first group must be in its last chunk before anything can turn back. From the last rank
    // it takes a pass and a transfer for each rank, both ways: two more for each rank in front.
    const int warmup = (shape.chunks - 1) * sizes.front() + 2 * (shape.ranks - 1 - rank);
    actions.push_back(one_in_one_out(forward, backward, static_cast<size_t>(warmup)));
  }
  return {shape, std::move(actions)};
}

const std::vector<std::string_view>& schedule_names() {
  static const std::vector<std::string_view> names = {"gpipe", "1f1b", "interleaved"};
  return names;
}

Schedule make_schedule(std::string_view name, const PipelineShape& shape) {
  if (name == "gpipe") return gpipe(shape);
  if (name == "1f1b") return one_f_one_b(shape);
  if (name == "interleaved") return interleaved(shape);
  const auto meant = nearest(name, schedule_names());
  throw UsageError(format("there is no schedule '{}', but gpipe, 1f1b and interleaved{}", name,
                          meant ? format("; did you mean '{}'?", *meant) : ""));
}

}  // namespace shoal::plan
