#include "shoal/plan/layout.h"

#include "shoal/core/error.h"

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

}  // namespace shoal::plan
