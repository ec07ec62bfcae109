#include "shoal/plan/advice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/layout.h"

namespace shoal::plan {
namespace {

using config::Recompute;
using config::Sharding;

// A layout's job on a machine, to ask what another choice would have needed.
struct Asked {
  const FoundLayout& found;
  const config::RunConfig& config;
  const config::ClusterConfig& cluster;

  [[nodiscard]] bool fits(const Choice& choice) const {
    const config::RunConfig job = with(config, choice);
    const int ranks = choice.tp * choice.pp * choice.data_ranks();
    if (!why_not(job, ranks).empty()) return false;
    const PlannedJob planned(job, mesh_of(job.parallel, ranks));
    return static_cast<double>(device_bytes(planned.stages(), cluster)) <=
           cluster.device.memory_gb * 1e9;
  }
};

std::string of_state(const config::RunConfig& config, const config::ClusterConfig& cluster) {
  const StateBytes bytes = state_bytes(config);
  const int64_t state = counts_of(config.model).parameters() * bytes.total();
  const double devices = static_cast<double>(state) / (cluster.device.memory_gb * 1e9);
  const std::string size = format("The training state takes {} ({} bytes per parameter)",
                                  format_bytes(state), bytes.total());
  if (devices <= 1) return format("{}: it fits on one device.", size);
  if (devices <= cluster.devices_per_node)
    return format("{}: it does not fit on one device, but on the {} of a node.", size,
                  cluster.devices_per_node);
  return format("{}: {:.0f} devices for the state alone, more than a node has.", size,
                std::ceil(devices));
}

std::string of_tensors(const Choice& choice, const config::ClusterConfig& cluster) {
  if (choice.tp == 1) return "No tensor parallelism: there are no calls inside of layers.";
  return format(
      "tp {} splits every matrix inside a node, whose links are {:.0f} times as fast as the "
      "network's.",
      choice.tp, cluster.node.gb_per_s / cluster.network.gb_per_s);
}

std::string of_stages(const FoundLayout& found) {
  const Choice& choice = found.choice;
  if (choice.pp == 1) return "No pipeline: without one there is no bubble.";
  const RankTime& busiest = found.time.busiest();
  const double waiting = busiest.by(Spent::kPipeline) / busiest.seconds;
  const std::string chunks =
      choice.chunks > 1 ? format(", {} of them on each rank in turn,", choice.chunks) : "";
  return format(
      "pp {} cuts the layers into stages{} that only send activations to each other; {:.0f} % of "
      "the busiest rank's time is waiting for others.",
      choice.pp, chunks, 100 * waiting);
}

std::string of_shards(const Choice& choice) {
  if (choice.data_ranks() == 1)
    return "No data parallelism: the devices hold one copy of the model between them.";
  const std::string ranks = format("{} data-parallel ranks", choice.data_ranks());
  switch (choice.sharding) {
    case Sharding::kNoShard:
      return format("{} keep copies (DDP): all of the state fits beside the activations.", ranks);
    case Sharding::kOptimizer:
      return format(
          "{} share the optimizer (ZeRO-1): weights stay whole, and nothing is gathered "
          "between layers.",
          ranks);
    case Sharding::kShardGradOp:
      return format("{} share optimizer and gradients (ZeRO-2).", ranks);
    case Sharding::kFullShard:
      return format("{} share weights, too (FSDP): layers are gathered while others compute.",
                    ranks);
    case Sharding::kHybridShard:
      return format("{} shards inside each of {} copies (HSDP): gathers stay on the faster links.",
                    choice.dp_shard, choice.dp_replicate);
  }
  return {};
}

// What the same layout would need if every data-parallel rank had a copy.
std::string of_copies(const Asked& asked) {
  Choice copies = asked.found.choice;
  if (copies.data_ranks() == 1 || copies.sharding == Sharding::kNoShard) return "";
  copies.dp_shard = copies.data_ranks();
  copies.dp_replicate = 1;
  copies.sharding = Sharding::kNoShard;
  return asked.fits(copies) ? " Copies would fit, but hardly be faster." : " Copies would not fit.";
}

std::string of_activations(const Asked& asked) {
  Choice kept = asked.found.choice;
  if (kept.recompute == Recompute::kNone) return "Activations are kept: nothing is computed twice.";
  const bool full = kept.recompute == Recompute::kFull;
  const std::string what = full ? "Blocks are recomputed in backward, a third more work"
                                : "Norms and activation functions are recomputed, which is little "
                                  "work for much memory";
  kept.recompute = Recompute::kNone;
  if (asked.fits(kept))
    return what + ": kept, activations would fit as well, but hardly save time.";
  kept.recompute = Recompute::kSelective;
  if (full && asked.fits(kept))
    return what + ": kept, activations would not fit; to recompute less would hardly save time.";
  return what + ": kept, activations would not fit.";
}

// By what the busiest rank waits for most, if that is much.
std::string what_to_try(const StepTime& time) {
  const RankTime& busiest = time.busiest();
  const auto share = [&](Spent what) { return busiest.by(what) / busiest.seconds; };
  struct Way {
    double share;
    const char* what;
  };
  const std::array<Way, 4> ways = {
      {{share(Spent::kPipeline), "a larger batch, whose micro-batches fill the bubble"},
       {share(Spent::kTensor), "fewer tensor-parallel ranks, if memory allows"},
       {share(Spent::kWeights) + share(Spent::kGradients),
        "a larger batch per device, which communication hides behind"},
       {share(Spent::kLaunches),
        "a larger micro-batch; the host cannot launch as fast as the device works"}}};
  const Way& most = *std::max_element(ways.begin(), ways.end(),
                                      [](const Way& a, const Way& b) { return a.share < b.share; });
  constexpr double kMuch = 0.1;
  if (most.share > kMuch) return format("To try next: {}.", most.what);
  const auto longest = std::max_element(busiest.spent.begin(), busiest.spent.end());
  const auto what = static_cast<Spent>(longest - busiest.spent.begin());
  return format("To try next: nothing in the layout; most of the time goes to {}.",
                spent_name(what));
}

}  // namespace

std::vector<std::string> reasons_for(const FoundLayout& found,
                                     const config::RunConfig& config,
                                     const config::ClusterConfig& cluster) {
  const Asked asked{found, config, cluster};
  return {of_state(config, cluster), of_tensors(found.choice, cluster),
          of_stages(found),          of_shards(found.choice) + of_copies(asked),
          of_activations(asked),     format("A step is {}.", shares_in_words(found.time.busiest())),
          what_to_try(found.time)};
}

std::vector<WhatIf> what_would_change(const FoundLayout& found,
                                      const config::RunConfig& config,
                                      const config::ClusterConfig& cluster,
                                      int ranks) {
  std::vector<WhatIf> changes;
  const auto ask = [&](const std::string& change, const config::RunConfig& job,
                       const config::ClusterConfig& machine) {
    const SearchResult other = search(job, machine, ranks);
    if (!other.best.empty() && other.best.front().choice != found.choice)
      changes.push_back({change, other.best.front().choice});
  };
  config::ClusterConfig other = cluster;
  other.network = cluster.network.faster(0.25);
  ask("a network a quarter as fast", config, other);
  other.network = cluster.network.faster(4);
  ask("a network four times as fast", config, other);
  other = cluster;
  other.device.memory_gb = cluster.device.memory_gb * 2;
  ask("devices with twice the memory", config, other);
  config::RunConfig larger = config;
  larger.train.batch *= 4;
  ask("a batch four times as large", larger, cluster);
  return changes;
}

}  // namespace shoal::plan
