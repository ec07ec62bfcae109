#include "shoal/plan/advice.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/counts.h"

namespace shoal::plan {
namespace {

using config::Recompute;
using config::Sharding;

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
  if (choice.tp == 1)
    return "No tensor parallelism: its calls in every layer would cost more than they save.";
  return format(
      "tp {} splits every matrix inside a node, whose links are {:.0f} times as fast as the "
      "network's.",
      choice.tp, cluster.node.gb_per_s / cluster.network.gb_per_s);
}

std::string of_stages(const FoundLayout& found) {
  const Choice& choice = found.choice;
  if (choice.pp == 1) return "No pipeline: without one there is no bubble.";
  const RankTime& busiest = found.time.busiest();
  const double bubble = busiest.by(Spent::kPipeline) / busiest.seconds;
  const std::string chunks =
      choice.chunks > 1 ? format(", {} of them on each rank in turn,", choice.chunks) : "";
  return format(
      "pp {} cuts the layers into stages{} that only send activations to each other; {:.0f} % of "
      "the busiest rank's time is bubble.",
      choice.pp, chunks, 100 * bubble);
}

std::string of_shards(const Choice& choice) {
  if (choice.data_ranks() == 1) return "No data parallelism: every device is needed for the model.";
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

std::string of_activations(const Choice& choice) {
  switch (choice.recompute) {
    case Recompute::kNone:
      return "Activations are kept: there is room for them.";
    case Recompute::kSelective:
      return "Norms and activation functions are recomputed: they cost little and take much "
             "memory.";
    case Recompute::kFull:
      return "Blocks are recomputed in backward, a third more work: nothing else fits, or a "
             "smaller "
             "layout pays for it.";
  }
  return {};
}

std::string what_to_try(const StepTime& time) {
  const RankTime& busiest = time.busiest();
  const auto share = [&](Spent what) { return busiest.by(what) / busiest.seconds; };
  constexpr double kMuch = 0.1;
  if (share(Spent::kPipeline) > kMuch)
    return "To try next: a larger batch, whose micro-batches fill the bubble.";
  if (share(Spent::kTensor) > kMuch)
    return "To try next: a larger micro-batch or fewer tensor-parallel ranks, if memory allows.";
  if (share(Spent::kWeights) + share(Spent::kGradients) > kMuch)
    return "To try next: a larger batch per device, which communication hides behind.";
  if (share(Spent::kLaunches) > kMuch)
    return "To try next: a larger micro-batch; the host cannot launch as fast as the device works.";
  return "To try next: nothing in the layout; products take most of the time.";
}

}  // namespace

std::vector<std::string> reasons_for(const FoundLayout& found,
                                     const config::RunConfig& config,
                                     const config::ClusterConfig& cluster) {
  return {of_state(config, cluster),
          of_tensors(found.choice, cluster),
          of_stages(found),
          of_shards(found.choice),
          of_activations(found.choice),
          format("A step is {}.", shares_in_words(found.time.busiest())),
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
