#include "shoal/config/check.h"

#include <algorithm>
#include <string>

#include "shoal/config/tensor_parallel.h"
#include "shoal/core/error.h"
#include "shoal/core/format.h"

namespace shoal::config {
namespace {

// Five degrees multiply to at most 2^20 * 2^20 * 2^12 * 2^12 * 2^10 = 2^74: past this it is "too
// many".
constexpr int64_t kTooMany = int64_t{1} << 40;

int64_t product(std::initializer_list<int64_t> degrees) {
  int64_t total = 1;
  for (const int64_t degree : degrees)
    total = std::min(total * std::min(degree, kTooMany), kTooMany);
  return total;
}

// The ranks that every degree except dp_shard asks for.
int64_t ranks_beside_shard(const ParallelConfig& p) {
  return product({p.dp_replicate, p.cp, p.pp, p.tp});
}

std::string count_shown(int64_t count) {
  return count >= kTooMany ? "more than 10^12" : std::to_string(count);
}

// "4 or 8": the numbers of ranks around `ranks` that `unit` divides.
std::string multiples_around(int64_t unit, int64_t ranks) {
  const int64_t below = ranks / unit * unit;
  if (below == 0) return std::to_string(unit);
  return format("{} or {}", below, below + unit);
}

void check_automatic_shard(const ParallelConfig& p, int ranks, std::vector<Problem>& found) {
  const int64_t beside = ranks_beside_shard(p);
  if (ranks % beside == 0) return;
  const std::string launch =
      beside <= kMaxRanks ? format("launch {} ranks, or ", multiples_around(beside, ranks)) : "";
  found.push_back(
      {.where = "parallel",
       .what = format("dp_replicate*cp*pp*tp = {}*{}*{}*{} = {} does not divide {} ranks, "
                      "so nothing is left for dp_shard: auto",
                      p.dp_replicate, p.cp, p.pp, p.tp, count_shown(beside), ranks),
       .hint = format("{}choose degrees whose product divides {}", launch, ranks)});
}

void check_given_shard(const ParallelConfig& p, int ranks, std::vector<Problem>& found) {
  const int64_t beside = ranks_beside_shard(p);
  const int64_t total = ranks_asked_for(p);
  if (total == ranks) return;
  std::string hint = total <= kMaxRanks ? format("launch {} ranks, or ", total) : "";
  hint += ranks % beside == 0 ? format("write `dp_shard: {}` or `dp_shard: auto`", ranks / beside)
                              : format("change degrees until the product is {}", ranks);
  found.push_back({.where = "parallel",
                   .what = format("dp_replicate*dp_shard*cp*pp*tp = {}*{}*{}*{}*{} = {}, "
                                  "but there {} {} rank{}",
                                  p.dp_replicate, *p.dp_shard, p.cp, p.pp, p.tp, count_shown(total),
                                  ranks == 1 ? "is" : "are", ranks, ranks == 1 ? "" : "s"),
                   .hint = hint});
}

// Tensor-parallel ranks exchange activations inside every layer, so a group must not cross nodes.
void check_tensor_ranks(const ParallelConfig& p, int ranks_in_node, std::vector<Problem>& found) {
  if (ranks_in_node % p.tp == 0) return;
  int fitting = std::min(p.tp, ranks_in_node);
  while (ranks_in_node % fitting != 0) --fitting;
  found.push_back(
      {.where = "parallel.tp",
       .what = p.tp > ranks_in_node
                   ? format("{} is more than the {} ranks of a node", p.tp, ranks_in_node)
                   : format("{} does not divide the {} ranks of a node, so a group would "
                            "cross nodes",
                            p.tp, ranks_in_node),
       .hint = format("write `tp: {}`, and raise pp or dp_shard instead", fitting)});
}

void check_tensor_split(const RunConfig& config, std::vector<Problem>& found) {
  if (const auto reason = why_not_tensor_parallel(config.model, config.parallel.tp))
    found.push_back({.where = "parallel.tp",
                     .what = *reason,
                     .hint = "what tp leaves, pp or dp_shard can take"});
}

void check_backend(const CommConfig& comm, int ranks, std::vector<Problem>& found) {
  if (comm.backend != Backend::kLocal || ranks == 1) return;
  found.push_back({.where = "comm.backend",
                   .what = format("local connects nobody, but there are {} ranks", ranks),
                   .hint = "write `backend: auto`, or launch 1 rank"});
}

void check_heads(const ModelConfig& model, std::vector<Problem>& found) {
  if (model.heads % model.num_kv_heads() != 0) {
    found.push_back(
        {.where = "model.kv_heads",
         .what = format("{} does not divide model.heads = {}", model.num_kv_heads(), model.heads),
         .hint = "each key/value head serves the same number of queries"});
  }
  if (!model.head_width && model.width % model.heads != 0) {
    found.push_back(
        {.where = "model.heads",
         .what = format("{} does not divide model.width = {}", model.heads, model.width),
         .hint = "choose a divisor, or write model.head_width"});
  } else if (model.positions == Positions::kRotary && model.features_per_head() % 2 != 0) {
    found.push_back({.where = "model.head_width",
                     .what = format("{} is odd, but rotary positions turn pairs of features",
                                    model.features_per_head()),
                     .hint = "choose an even width of a head, or other positions"});
  }
  if (model.positions == Positions::kSinusoidal && model.width % 2 != 0) {
    found.push_back({.where = "model.width",
                     .what = format("{} is odd, but sinusoidal positions are pairs", model.width),
                     .hint = "choose an even width, or other positions"});
  }
}

// Bytes and operations are counted in 64 bits: a step has room there with what comes on top of its
// activations, logits and scores.
void check_step_size(const RunConfig& config, std::vector<Problem>& found) {
  constexpr double kMost = 0x1p56;
  const ModelConfig& model = config.model;
  const double tokens =
      static_cast<double>(config.train.batch) * static_cast<double>(model.context);
  const double of_token =
      std::max({static_cast<double>(model.layers) *
                    static_cast<double>(std::max(model.width, model.hidden_width())),
                static_cast<double>(model.vocab_size.value_or(1)),
                static_cast<double>(model.heads) * static_cast<double>(model.context)});
  if (tokens * of_token <= kMost) return;
  found.push_back({.where = "train.batch",
                   .what = format("a step of {} sequences of {} tokens is too large to be counted",
                                  config.train.batch, model.context),
                   .hint = "lower train.batch or model.context"});
}

void check_weights(const DataConfig& data, std::vector<Problem>& found) {
  if (data.weights.empty() || data.weights.size() == data.sources.size()) return;
  found.push_back({.where = "data.weights",
                   .what = format("there are {} weights, but {} sources", data.weights.size(),
                                  data.sources.size()),
                   .hint = "write one weight for each source, or none"});
}

// keep_every must be a multiple of save_every: at other steps there is a checkpoint by chance only.
void check_kept_steps(const TrainConfig& train, std::vector<Problem>& found) {
  const int64_t saved = train.save_every;
  const int64_t kept = train.keep_every;
  if (kept == 0 || (saved > 0 && kept % saved == 0)) return;
  found.push_back({.where = "train.keep_every",
                   .what = saved == 0
                               ? format("{} finds nothing to keep: train.save_every is 0", kept)
                               : format("{} is no multiple of train.save_every = {}", kept, saved),
                   .hint = saved == 0 ? "write how often to save as train.save_every"
                                      : format("write {}, or another multiple of {}",
                                               (kept / saved + 1) * saved, saved)});
}

void check_spares(const CommConfig& comm, std::vector<Problem>& found) {
  if (comm.spare_ranks == 0 || comm.lost_rank == LostRank::kGoOn) return;
  found.push_back(
      {.where = "comm.spare_ranks",
       .what = format("{} ranks would wait for ever: comm.lost_rank is restart", comm.spare_ranks),
       .hint = "write comm.lost_rank: go_on, or no spare ranks"});
}

// A layout that is found may have no replicas to go on with, and needs a machine to be found for.
void check_other_ranks(const RunConfig& config, std::vector<Problem>& found) {
  if (config.plan.other_ranks == OtherRanks::kRefuse) return;
  if (!config.plan.cluster)
    found.push_back({.where = "plan.other_ranks",
                     .what = "search needs to know the machine: plan.cluster is auto",
                     .hint = "write plan.cluster: clusters/h100.yaml, or what `shoal bench gemm "
                             "--save` has measured"});
  if (config.comm.lost_rank == LostRank::kGoOn)
    found.push_back(
        {.where = "plan.other_ranks",
         .what = "search may find a layout without replicas, but comm.lost_rank is go_on",
         .hint = "write comm.lost_rank: restart, or plan.other_ranks: refuse"});
}

// Traces are for looking at: files of every step would fill the disk.
void check_traced_steps(const TrainConfig& train, std::vector<Problem>& found) {
  constexpr size_t kMostTraces = 100;
  const auto& steps = train.trace_steps;
  if (steps.size() > kMostTraces)
    found.push_back({.where = "train.trace_steps",
                     .what = format("names {} steps, more than {}", steps.size(), kMostTraces),
                     .hint = "a few show what all do"});
  for (const int64_t step : steps) {
    if (step <= train.steps) continue;
    found.push_back({.where = "train.trace_steps",
                     .what = format("{} is beyond train.steps = {}", step, train.steps),
                     .hint = "the first step is 1; choose one that the run takes"});
    return;
  }
}

}  // namespace

int64_t ranks_asked_for(const ParallelConfig& parallel) {
  return product({ranks_beside_shard(parallel), parallel.dp_shard.value_or(1)});
}

std::vector<Problem> check(const RunConfig& config, const JobSize& job) {
  std::vector<Problem> found;
  const ParallelConfig& parallel = config.parallel;
  if (parallel.dp_shard) {
    check_given_shard(parallel, job.ranks, found);
  } else {
    check_automatic_shard(parallel, job.ranks, found);
  }
  if (job.ranks_per_node) {
    check_tensor_ranks(parallel, std::min(*job.ranks_per_node, job.ranks), found);
  }
  check_backend(config.comm, job.ranks, found);
  check_heads(config.model, found);
  check_step_size(config, found);
  check_tensor_split(config, found);
  check_weights(config.data, found);
  check_kept_steps(config.train, found);
  check_traced_steps(config.train, found);
  check_spares(config.comm, found);
  check_other_ranks(config, found);
  return found;
}

RunConfig resolve(RunConfig config, const JobSize& job) {
  const int64_t beside = ranks_beside_shard(config.parallel);
  SHOAL_CHECK(job.ranks % beside == 0, "{} ranks, {} beside dp_shard", job.ranks, beside);
  if (!config.parallel.dp_shard) config.parallel.dp_shard = static_cast<int>(job.ranks / beside);
  return config;
}

}  // namespace shoal::config
