#include "shoal/plan/search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "shoal/core/error.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/device_allowance.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/layout_bounds.h"
#include "shoal/plan/memory.h"

namespace shoal::plan {
namespace {

// What a device has to hold: the fullest of the stages. Choices split evenly among tensor-parallel
// ranks, so that the first of them has as much as any.
int64_t device_bytes(const std::vector<PlannedRank>& stages, const config::ClusterConfig& cluster) {
  int64_t most = 0;
  for (const auto& [plan, program] : stages) {
    const Memory memory = memory_of(plan, program);
    const DeviceAllowance beside = device_allowance(kind_of(cluster.device), plan, memory);
    most = std::max(most, memory.peak() + beside.total());
  }
  return most;
}

bool same_distribution(const Choice& a, const Choice& b) {
  return a.tp == b.tp && a.pp == b.pp && a.dp_shard == b.dp_shard &&
         a.dp_replicate == b.dp_replicate && a.sharding == b.sharding;
}

Merits merits_of(const FoundLayout& found) {
  return {.seconds = found.time.seconds,
          .model_ranks = found.choice.tp * found.choice.pp,
          .bytes = found.bytes};
}

struct Bounded {
  Choice choice;
  LeastOf least;
};

class Search {
 public:
  Search(const config::RunConfig& config,
         const config::ClusterConfig& cluster,
         int ranks,
         const SearchLimits& limits)
      : config_(config),
        cluster_(cluster),
        ranks_(ranks),
        limits_(limits),
        memory_(static_cast<int64_t>(cluster.device.memory_gb * 1e9)) {}

  SearchResult run() {
    for (const Bounded& bounded : by_bound()) {
      if (bounded.least.seconds >= slowest_of_interest()) break;
      look_at(bounded.choice);
    }
    return std::move(result_);
  }

 private:
  std::vector<Bounded> by_bound() {
    LayoutBounds bounds(config_, cluster_);
    std::vector<Bounded> found;
    for (const Choice& choice : choices_of(config_, cluster_, ranks_)) {
      ++result_.looked_at;
      const LeastOf least = bounds.of(choice);
      if (least.bytes > memory_) {
        ++result_.too_large;
      } else {
        found.push_back({choice, least});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Bounded& a, const Bounded& b) { return a.least.seconds < b.least.seconds; });
    return found;
  }

  // Slower layouts are neither printed nor as good as the fastest.
  [[nodiscard]] double slowest_of_interest() const {
    const std::vector<FoundLayout>& best = result_.best;
    if (best.size() < limits_.layouts) return std::numeric_limits<double>::infinity();
    return std::max(best[limits_.layouts - 1].time.seconds,
                    best.front().time.seconds * (1 + limits_.tie));
  }

  void look_at(const Choice& choice) {
    const config::RunConfig config = with(config_, choice);
    if (!why_not(config, ranks_).empty()) return;
    const std::vector<PlannedRank> stages =
        PlannedJob(config, mesh_of(config.parallel, ranks_)).stages();
    const int64_t bytes = device_bytes(stages, cluster_);
    if (bytes > memory_) {
      ++result_.too_large;
      return;
    }
    ++result_.timed;
    keep({.choice = choice, .time = step_time(stages, cluster_), .bytes = bytes});
  }

  void keep(FoundLayout found) {
    std::vector<FoundLayout>& best = result_.best;
    const auto like_it = std::find_if(best.begin(), best.end(), [&](const FoundLayout& known) {
      return same_distribution(known.choice, found.choice);
    });
    if (like_it == best.end()) {
      best.push_back(std::move(found));
    } else if (preferred({merits_of(*like_it), merits_of(found)}, limits_.tie) == 1) {
      *like_it = std::move(found);
    }
    std::sort(best.begin(), best.end(), [](const FoundLayout& a, const FoundLayout& b) {
      return a.time.seconds < b.time.seconds;
    });
  }

  const config::RunConfig& config_;
  const config::ClusterConfig& cluster_;
  int ranks_;
  SearchLimits limits_;
  int64_t memory_;
  SearchResult result_;
};

}  // namespace

size_t preferred(const std::vector<Merits>& layouts, double tie) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Merits& layout : layouts) shortest = std::min(shortest, layout.seconds);
  std::optional<size_t> chosen;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].seconds > shortest * (1 + tie)) continue;
    const auto rank = [&](size_t at) {
      return std::pair(layouts[at].model_ranks, layouts[at].bytes);
    };
    if (!chosen || rank(i) < rank(*chosen)) chosen = i;
  }
  return *chosen;
}

SearchResult search(const config::RunConfig& config,
                    const config::ClusterConfig& cluster,
                    int ranks,
                    const SearchLimits& limits) {
  SearchResult result = Search(config, cluster, ranks, limits).run();
  std::vector<Merits> merits;
  merits.reserve(result.best.size());
  for (const FoundLayout& found : result.best) merits.push_back(merits_of(found));
  if (!merits.empty()) {
    const auto chosen = result.best.begin() + static_cast<int64_t>(preferred(merits, limits.tie));
    std::rotate(result.best.begin(), chosen, chosen + 1);
  }
  if (result.best.size() > limits.layouts) result.best.resize(limits.layouts);
  return result;
}

const FoundLayout& best_of(const SearchResult& found,
                           const config::RunConfig& config,
                           const config::ClusterConfig& cluster,
                           int ranks) {
  if (found.best.empty())
    throw UsageError(format(
        "none of {} layouts fits {} devices of {} GB: take more devices, or a batch that more "
        "micro-batches or data-parallel ranks divide (train.batch is {})",
        found.looked_at, ranks, cluster.device.memory_gb, config.train.batch));
  return found.best.front();
}

}  // namespace shoal::plan
