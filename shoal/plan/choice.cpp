#include "shoal/plan/choice.h"

#include <algorithm>

#include "shoal/config/tensor_parallel.h"
#include "shoal/config/value.h"
#include "shoal/core/format.h"
#include "shoal/plan/schedule.h"

namespace shoal::plan {
namespace {

using config::Recompute;
using config::Sharding;

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int i = 1; i <= number; ++i) {
    if (number % i == 0) divisors.push_back(i);
  }
  return divisors;
}

// Heads are split evenly: uneven shares make the others wait.
bool splits_evenly(const config::ModelConfig& model, int tp) {
  if (config::why_not_tensor_parallel(model, tp)) return false;
  const int kv_heads = model.num_kv_heads();
  return model.heads % tp == 0 && (kv_heads % tp == 0 || tp % kv_heads == 0);
}

// Stages of which none is empty, and whose numbers of blocks differ by one at most because the ends
// have the embedding and the head.
bool cuts_evenly(int layers, int stages) {
  return layers % stages == 0 || (layers + 2) % stages == 0;
}

// Rows of the batch that the fullest data-parallel rank has.
int64_t most_rows(int64_t batch, int ranks) { return (batch + ranks - 1) / ranks; }

// Whether ranks with a row more do not make the others wait for more than a quarter of their time.
bool shares_batch(int64_t batch, int ranks) {
  return ranks <= batch && most_rows(batch, ranks) * ranks * 4 <= batch * 5;
}

class Choices {
 public:
  Choices(const config::RunConfig& config, const config::ClusterConfig& cluster, int ranks)
      : config_(config), in_node_(std::min(cluster.devices_per_node, ranks)), ranks_(ranks) {}

  std::vector<Choice> all() {
    for (const int tp : divisors_of(in_node_)) {
      if (ranks_ % tp != 0 || !splits_evenly(config_.model, tp)) continue;
      for (const int pp : divisors_of(ranks_ / tp)) {
        if (pp > config_.model.layers + 2) break;
        with_data_ranks({.pp = pp, .tp = tp}, ranks_ / tp / pp);
      }
    }
    return std::move(found_);
  }

 private:
  void with_data_ranks(Choice choice, int ranks) {
    if (!shares_batch(config_.train.batch, ranks)) return;
    choice.dp_shard = ranks;
    for (const Sharding sharding :
         {Sharding::kNoShard, Sharding::kOptimizer, Sharding::kShardGradOp, Sharding::kFullShard}) {
      choice.sharding = sharding;
      with_batches(choice);
      if (ranks == 1) return;  // nothing to divide
    }
    for (int shards = in_node_ / choice.tp; shards > 1 && shards < ranks; shards *= 2) {
      if (ranks % shards != 0) break;
      choice.dp_shard = shards;
      choice.dp_replicate = ranks / shards;
      choice.sharding = Sharding::kHybridShard;
      with_batches(choice);
      choice.sharding = Sharding::kOptimizer;
      with_batches(choice);
    }
  }

  void with_batches(Choice choice) {
    const int64_t rows = most_rows(config_.train.batch, choice.data_ranks());
    for (int64_t micro_batch = 1; micro_batch <= rows; micro_batch *= 2) {
      if (rows % micro_batch != 0) break;
      if (rows / micro_batch > kMaxMicroBatches) continue;
      choice.micro_batch = micro_batch;
      with_chunks(choice, rows / micro_batch);
    }
  }

  void with_chunks(Choice choice, int64_t micro_batches) {
    const int layers = config_.model.layers;
    for (int chunks = 1; choice.pp * chunks <= layers + 2; ++chunks) {
      if (chunks > 1 && (choice.pp == 1 || micro_batches % choice.pp != 0)) break;
      if (chunks > 1 && !cuts_evenly(layers, choice.pp * chunks)) continue;
      choice.chunks = chunks;
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        choice.recompute = recompute;
        found_.push_back(choice);
      }
    }
  }

  const config::RunConfig& config_;
  int in_node_;  // ranks of a node
  int ranks_;
  std::vector<Choice> found_;
};

}  // namespace

std::string Choice::describe() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (tp > 1) add(format("tp {}", tp));
  if (pp > 1) add(chunks > 1 ? format("pp {} x {} interleaved", pp, chunks) : format("pp {}", pp));
  if (data_ranks() > 1)
    add(dp_replicate > 1 ? format("dp {} x {}", dp_replicate, dp_shard)
                         : format("dp {}", dp_shard));
  if (data_ranks() > 1) add(config::write_value(sharding));
  add(format("micro-batch {}", micro_batch));
  if (recompute != Recompute::kNone) add(format("recompute {}", config::write_value(recompute)));
  return text;
}

config::RunConfig with(const config::RunConfig& config, const Choice& choice) {
  config::RunConfig changed = config;
  changed.parallel.dp_replicate = choice.dp_replicate;
  changed.parallel.dp_shard = choice.dp_shard;
  changed.parallel.cp = 1;
  changed.parallel.pp = choice.pp;
  changed.parallel.tp = choice.tp;
  changed.parallel.sharding = choice.sharding;
  changed.parallel.chunks = choice.chunks;
  changed.parallel.schedule =
      choice.chunks > 1 ? config::ScheduleKind::kInterleaved : config::ScheduleKind::k1f1b;
  changed.parallel.schedule_file = std::nullopt;
  changed.train.micro_batch = choice.micro_batch;
  changed.train.recompute = choice.recompute;
  return changed;
}

std::vector<Choice> choices_of(const config::RunConfig& config,
                               const config::ClusterConfig& cluster,
                               int ranks) {
  return Choices(config, cluster, ranks).all();
}

}  // namespace shoal::plan
