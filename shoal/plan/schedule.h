// schedule.h -- the order in which each rank of a pipeline runs its micro-batches, as a value.
//
//   const Schedule schedule = one_f_one_b({.ranks = 4, .micro_batches = 8});
//   for (const Action& action : schedule.actions(rank)) {
//     const int stage = schedule.stage_of(rank, action.chunk);
//     // a forward takes activations from stage - 1 and hands its own to stage + 1;
//     // a backward takes gradients from stage + 1 and hands its own to stage - 1
//   }
//
// Sends and receives are not listed because they follow from the passes: each pass sends its result
// as soon as it is done, without waiting for the receiver. schedule_check.h says whether a schedule
// is complete, schedule_simulation.h whether and when it ends, schedule_text.h writes and reads
// files of schedules. A Schedule is immutable: threads may share it, and a copy
// shares its lists.
//
// All schedules made here run the backward passes of a chunk in the order of micro-batches. So all
// of them accumulate gradients in the same order, and the sums agree to the bit. Also, activations
// and gradients are received in the order in which they are sent. A schedule from a file need not
// be like that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::plan {

// Zero-bubble schedules would need a third one, for weight gradients: add its letter in
// schedule_text.cpp, and what it waits for in schedule_simulation.cpp.
enum class Op : uint8_t { kForward, kBackward };

constexpr int kNumOps = 2;

struct Action {
  Op op = Op::kForward;
  int micro_batch = 0;
  int chunk = 0;  // index of the rank's stage

  bool operator==(const Action&) const = default;
};

struct PipelineShape {
  int ranks = 1;
  int chunks = 1;  // stages per rank
  int micro_batches = 1;

  [[nodiscard]] int stages() const { return ranks * chunks; }
  bool operator==(const PipelineShape&) const = default;
};

constexpr int kMaxPipelineRanks = 4096;
constexpr int kMaxChunks = 256;
constexpr int kMaxMicroBatches = 1 << 16;
constexpr int64_t kMaxActions = 1 << 22;  // sum over all ranks

// Throws UsageError when the shape is no pipeline, or too large for a schedule.
void require_possible(const PipelineShape& shape);

class Schedule {
 public:
  // `actions` has one list per rank, inside the shape; schedule_check.h checks that it is complete.
  Schedule(const PipelineShape& shape, std::vector<std::vector<Action>> actions);

  [[nodiscard]] const PipelineShape& shape() const { return shape_; }
  [[nodiscard]] int ranks() const { return shape_.ranks; }
  [[nodiscard]] int chunks() const { return shape_.chunks; }
  [[nodiscard]] int micro_batches() const { return shape_.micro_batches; }
  [[nodiscard]] int stages() const { return shape_.stages(); }

  [[nodiscard]] const std::vector<Action>& actions(int rank) const;  // in order

  // Stages are assigned round-robin: rank r has r, r + ranks, r + 2 ranks, ...
  [[nodiscard]] int stage_of(int rank, int chunk) const;
  [[nodiscard]] int rank_of(int stage) const;
  [[nodiscard]] int chunk_of(int stage) const;

  bool operator==(const Schedule& other) const;

 private:
  PipelineShape shape_;
  std::shared_ptr<const std::vector<std::vector<Action>>> actions_;
};

// Every rank runs all forward passes, then all backward passes. With one micro-batch it is the
// naive pipeline, in which only one rank works at a time.
Schedule gpipe(const PipelineShape& shape);

// Rank r runs ranks - 1 - r forward passes to fill the pipeline behind it, then a forward and a
// backward in turn: it keeps at most ranks - r activations, however many micro-batches there are.
Schedule one_f_one_b(const PipelineShape& shape);

// 1F1B over several chunks per rank, in Megatron's order: a group of micro-batches runs through
// chunk 0, then the same group through chunk 1, ... The bubble shrinks by the number of chunks;
// more activations are kept, and more are sent. Megatron's groups have as many micro-batches as
// there are ranks. Here any number of micro-batches will do: what does not divide makes the first
// groups larger by one or more. A shorter group at the end would stall the ranks, or block them for
// ever.
Schedule interleaved(const PipelineShape& shape);

// Makes "gpipe", "1f1b" or "interleaved"; throws UsageError for another name.
Schedule make_schedule(std::string_view name, const PipelineShape& shape);
const std::vector<std::string_view>& schedule_names();

}  // namespace shoal::plan
