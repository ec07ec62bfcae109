#include "shoal/plan/layout.h"

#include "shoal/core/error.h"
#include "shoal/plan/schedule_check.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/schedule_text.h"

namespace shoal::plan {

Mesh mesh_of(const config::ParallelConfig& parallel, int num_ranks) {
  const int64_t others = int64_t{parallel.dp_replicate} * parallel.cp * parallel.pp * parallel.tp;
  const int64_t shard = parallel.dp_shard ? *parallel.dp_shard : num_ranks / others;
  if (others * shard != num_ranks) {
    throw UsageError(
        format("pp*dp_replicate*dp_shard*cp*tp = {}*{}*{}*{}*{} = {}, but there are {} ranks: "
               "change one degree, "
               "or launch as many",
               parallel.pp, parallel.dp_replicate, shard, parallel.cp, parallel.tp, others * shard,
               num_ranks));
  }
  return Mesh({{Axis::kPp, parallel.pp},
               {Axis::kDpReplicate, parallel.dp_replicate},
               {Axis::kDpShard, static_cast<int>(shard)},
               {Axis::kCp, parallel.cp},
               {Axis::kTp, parallel.tp}});
}

int64_t passes_of_step(int64_t batch, int64_t ranks, std::optional<int64_t> micro_batch) {
  const int64_t rows = (batch + ranks - 1) / ranks;
  return micro_batch ? (rows + *micro_batch - 1) / *micro_batch : 1;
}

Schedule schedule_of(const config::ParallelConfig& parallel, const PipelineShape& shape) {
  // One rank alone runs backward after every forward pass.
  if (shape.ranks == 1) return one_f_one_b(shape);
  switch (parallel.schedule) {
    case config::ScheduleKind::kGpipe:
      return gpipe(shape);
    case config::ScheduleKind::k1f1b:
      return one_f_one_b(shape);
    case config::ScheduleKind::kInterleaved:
      return interleaved(shape);
    case config::ScheduleKind::kFile:
      break;
  }
  if (!parallel.schedule_file)
    throw UsageError("parallel.schedule is file, but parallel.schedule_file names none");
  Schedule schedule = read_schedule(*parallel.schedule_file);
  if (schedule.shape() != shape)
    throw UsageError(
        format("{} is a schedule of {} ranks, {} chunks and {} micro-batches, but this run has {}, "
               "{} and {}",
               *parallel.schedule_file, schedule.ranks(), schedule.chunks(),
               schedule.micro_batches(), shape.ranks, shape.chunks, shape.micro_batches));
  require_complete(schedule, *parallel.schedule_file);
  simulate(schedule, even_times(schedule, {.forward = 1, .backward = 2, .transfer = 0}))
      .require_finished(*parallel.schedule_file);
  return schedule;
}

}  // namespace shoal::plan
