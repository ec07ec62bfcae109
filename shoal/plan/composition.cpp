#include "shoal/plan/composition.h"

#include <algorithm>
#include <cstdint>

#include "shoal/core/error.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/stages.h"

namespace shoal::plan {
namespace {

using config::ParallelConfig;
using config::Problem;
using config::RunConfig;
using config::ScheduleKind;
using config::Sharding;

using Problems = std::vector<Problem>;

int64_t shard_ranks(const ParallelConfig& parallel, int ranks) {
  if (parallel.dp_shard) return *parallel.dp_shard;
  const int64_t beside =
      int64_t{parallel.dp_replicate} * parallel.cp * int64_t{parallel.pp} * parallel.tp;
  return std::max<int64_t>(ranks / beside, 1);
}

void check_context(const ParallelConfig& parallel, Problems& found) {
  if (parallel.cp == 1) return;
  found.push_back({.where = "parallel.cp",
                   .what = format("{}: sequences cannot be split over ranks yet", parallel.cp),
                   .hint = "write `cp: 1`; use tp, pp or dp_shard for these ranks"});
}

void check_copies(const ParallelConfig& parallel, Problems& found) {
  if (parallel.sharding != Sharding::kHybridShard || parallel.dp_replicate > 1) return;
  found.push_back({.where = "parallel.sharding",
                   .what = "hybrid_shard is full_shard inside each of several copies, but "
                           "dp_replicate is 1",
                   .hint = "write `sharding: full_shard`, or a dp_replicate of 2 or more"});
}

void check_chunks(const ParallelConfig& parallel, Problems& found) {
  const bool takes_chunks =
      parallel.schedule == ScheduleKind::kInterleaved || parallel.schedule == ScheduleKind::kFile;
  if (parallel.pp == 1 && parallel.chunks > 1) {
    found.push_back({.where = "parallel.chunks",
                     .what = format("{} stages of each pipeline rank, but pp is 1: there is no "
                                    "pipeline",
                                    parallel.chunks),
                     .hint = "write `chunks: 1`, or a pp of 2 or more"});
  } else if (parallel.chunks > 1 && !takes_chunks) {
    found.push_back({.where = "parallel.chunks",
                     .what = format("{}, but {} runs one stage of each rank", parallel.chunks,
                                    config::write_value(parallel.schedule)),
                     .hint = "write `schedule: interleaved`, or `chunks: 1`"});
  }
}

void check_schedule(const ParallelConfig& parallel, Problems& found) {
  const ScheduleKind kind = parallel.schedule;
  if (parallel.pp == 1 && (kind == ScheduleKind::kInterleaved || kind == ScheduleKind::kFile)) {
    found.push_back({.where = "parallel.schedule",
                     .what = format("{} orders a pipeline, but pp is 1", config::write_value(kind)),
                     .hint = "leave it out, or write a pp of 2 or more"});
  } else if (kind == ScheduleKind::kInterleaved && parallel.chunks == 1) {
    found.push_back({.where = "parallel.schedule",
                     .what = "interleaved takes turns between several stages of a rank, but chunks "
                             "is 1",
                     .hint = "write `schedule: 1f1b`, or a chunks of 2 or more"});
  }
  if (kind == ScheduleKind::kFile && !parallel.schedule_file) {
    found.push_back({.where = "parallel.schedule_file",
                     .what = "schedule is file, and no file is named",
                     .hint = "name one; `shoal schedule 1f1b ... --print` writes what it may look "
                             "like"});
  } else if (kind != ScheduleKind::kFile && parallel.schedule_file) {
    found.push_back({.where = "parallel.schedule_file",
                     .what = format("{} is named, but schedule is {}", *parallel.schedule_file,
                                    config::write_value(kind)),
                     .hint = "write `schedule: file`, or leave the file out"});
  }
}

void check_stages(const RunConfig& config, Problems& found) {
  try {
    cut_into_stages(config.model.layers, config.parallel.pp * config.parallel.chunks);
  } catch (const UsageError& error) {
    found.push_back(
        {.where = "parallel.pp",
         .what = error.what(),
         .hint = "choose a smaller pp or fewer chunks; what they leave, dp_shard or tp can take"});
  }
}

// Checks the schedule itself, once everything it is made from is valid.
void check_order(const RunConfig& config, int64_t data_ranks, Problems& found) {
  const ParallelConfig& parallel = config.parallel;
  const int64_t passes = passes_of_step(config.train.batch, data_ranks, config.train.micro_batch);
  const PipelineShape shape{
      .ranks = parallel.pp,
      .chunks = parallel.chunks,
      .micro_batches = static_cast<int>(std::min<int64_t>(passes, INT32_MAX))};
  try {
    if (parallel.pp == 1) return require_possible(shape);
    schedule_of(parallel, shape);
  } catch (const Error& error) {
    const bool from_file = parallel.schedule == ScheduleKind::kFile;
    const char* const where = parallel.pp == 1 ? "train.micro_batch"
                              : from_file      ? "parallel.schedule_file"
                                               : "parallel.schedule";
    found.push_back({.where = where,
                     .what = error.what(),
                     .hint = from_file
                                 ? "`shoal schedule FILE` draws it and says what is wrong with it"
                                 : "change train.micro_batch, train.batch or parallel.pp"});
  }
}

void check_batch(const RunConfig& config, int64_t data_ranks, Problems& found) {
  if (config.train.batch >= data_ranks) return;
  found.push_back(
      {.where = "train.batch",
       .what = format("{} sequences leave some of the {} data-parallel ranks "
                      "(dp_replicate*dp_shard) without any",
                      config.train.batch, data_ranks),
       .hint = format("write a batch of {} or more, or use tp and pp instead", data_ranks)});
}

}  // namespace

Problems why_not(const RunConfig& config, int ranks) {
  Problems found;
  const ParallelConfig& parallel = config.parallel;
  const int64_t data_ranks = parallel.dp_replicate * shard_ranks(parallel, ranks);
  check_context(parallel, found);
  check_copies(parallel, found);
  check_stages(config, found);
  check_chunks(parallel, found);
  check_schedule(parallel, found);
  check_batch(config, data_ranks, found);
  const bool pipeline_is_wrong =
      std::any_of(found.begin(), found.end(),
                  [](const Problem& problem) { return problem.where.starts_with("parallel."); });
  if (!pipeline_is_wrong) check_order(config, data_ranks, found);
  return found;
}

void require_layout(const RunConfig& config, int ranks) {
  const Problems found = why_not(config, ranks);
  if (found.empty()) return;
  throw UsageError(config::report(
      format("this layout cannot be run on {} rank{}", ranks, ranks == 1 ? "" : "s"), found));
}

void require_vocabulary(const RunConfig& config) {
  if (!config.model.vocab_size)
    throw UsageError(
        "model.vocab_size is auto, and no data is read here: add --set model.vocab_size=N");
}

}  // namespace shoal::plan
