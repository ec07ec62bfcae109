#include "shoal/plan/search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "shoal/config/check.h"
#include "shoal/core/error.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/device_allowance.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/layout_bounds.h"
#include "shoal/plan/memory.h"

namespace shoal::plan {
namespace {

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

struct Shortest {
  Choice choice;
  double seconds;
};

// An order of layouts that does not depend on the one in which they were found.
bool comes_before(const FoundLayout& a, const FoundLayout& b) {
  const auto key = [](const FoundLayout& found) {
    return std::tuple(found.time.seconds, found.bytes, found.choice.describe());
  };
  return key(a) < key(b);
}

// Moves the layout to prefer of [begin, end) to the front. The others keep their order.
template <class Iterator>
void put_preferred_first(Iterator begin, Iterator end, double tie) {
  std::vector<Merits> merits;
  for (Iterator found = begin; found != end; ++found) merits.push_back(merits_of(*found));
  const auto chosen = begin + static_cast<int64_t>(preferred(merits, tie));
  std::rotate(begin, chosen, chosen + 1);
}

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
      if (bounded.least.seconds > slowest_of_interest()) break;
      look_at(bounded.choice);
    }
    result_.timed = timed_.size();
    result_.best = best_of_each(std::move(timed_), limits_);
    return std::move(result_);
  }

 private:
  std::vector<Bounded> by_bound() {
    LayoutBounds bounds(config_, cluster_);
    std::vector<Bounded> found;
    for (const Choice& choice : choices_of(config_, cluster_, ranks_)) {
      ++result_.looked_at;
      const LeastOf least = bounds.of(choice);
      if (least_device_bytes(kind_of(cluster_.device), least.bytes) > memory_) {
        ++result_.too_large;
      } else {
        found.push_back({choice, least});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Bounded& a, const Bounded& b) { return a.least.seconds < b.least.seconds; });
    return found;
  }

  // Slower layouts are neither printed nor as good as one that is.
  [[nodiscard]] double slowest_of_interest() const {
    if (shortest_.size() < limits_.layouts) return std::numeric_limits<double>::infinity();
    return shortest_[limits_.layouts - 1].seconds * (1 + limits_.tie);
  }

  void look_at(const Choice& choice) {
    const config::RunConfig config = with(config_, choice);
    const config::JobSize job{.ranks = ranks_,
                              .ranks_per_node = std::min(cluster_.devices_per_node, ranks_)};
    if (!config::check(config, job).empty() || !why_not(config, ranks_).empty()) return;
    const std::vector<PlannedRank> stages =
        PlannedJob(config, mesh_of(config.parallel, ranks_)).stages();
    const int64_t bytes = device_bytes(stages, cluster_);
    if (bytes > memory_) {
      ++result_.too_large;
      return;
    }
    timed_.push_back({.choice = choice, .time = step_time(stages, cluster_), .bytes = bytes});
    remember(choice, timed_.back().time.seconds);
  }

  // The shortest time of each distribution, ascending.
  void remember(const Choice& choice, double seconds) {
    const auto known = std::find_if(shortest_.begin(), shortest_.end(), [&](const Shortest& other) {
      return same_distribution(other.choice, choice);
    });
    if (known == shortest_.end()) {
      shortest_.push_back({choice, seconds});
    } else {
      known->seconds = std::min(known->seconds, seconds);
    }
    std::sort(shortest_.begin(), shortest_.end(),
              [](const Shortest& a, const Shortest& b) { return a.seconds < b.seconds; });
  }

  const config::RunConfig& config_;
  const config::ClusterConfig& cluster_;
  int ranks_;
  SearchLimits limits_;
  int64_t memory_;
  std::vector<FoundLayout> timed_;
  std::vector<Shortest> shortest_;
  SearchResult result_;
};

// What is wrong whatever the layout: with the model, for one.
void require_some_layout(const config::RunConfig& config, int ranks) {
  const std::vector<config::Problem> problems =
      config::check(with(config, {.dp_shard = ranks}), {.ranks = ranks});
  if (!problems.empty())
    throw UsageError(config::report("this config cannot be run on any layout", problems));
}

}  // namespace

int64_t device_bytes(const std::vector<PlannedRank>& stages, const config::ClusterConfig& cluster) {
  int64_t most = 0;
  for (const auto& [plan, program] : stages) {
    const Memory memory = memory_of(plan, program);
    const DeviceAllowance beside = device_allowance(kind_of(cluster.device), plan, memory);
    most = std::max(most, memory.peak() + beside.total());
  }
  return most;
}

size_t preferred(const std::vector<Merits>& layouts, double tie) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Merits& layout : layouts) shortest = std::min(shortest, layout.seconds);
  std::optional<size_t> chosen;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].seconds > shortest * (1 + tie)) continue;
    const auto rank = [&](size_t at) {
      return std::tuple(layouts[at].model_ranks, layouts[at].bytes, layouts[at].seconds);
    };
    if (!chosen || rank(i) < rank(*chosen)) chosen = i;
  }
  return *chosen;
}

SearchResult search(const config::RunConfig& config,
                    const config::ClusterConfig& cluster,
                    int ranks,
                    const SearchLimits& limits) {
  require_some_layout(config, ranks);
  return Search(config, cluster, ranks, limits).run();
}

std::vector<FoundLayout> best_of_each(std::vector<FoundLayout> timed, const SearchLimits& limits) {
  if (timed.empty()) return timed;
  std::sort(timed.begin(), timed.end(), comes_before);
  // Ties are with the fastest of all: a chain of ties with each other would lead away from it.
  put_preferred_first(timed.begin(), timed.end(), limits.tie);
  std::vector<FoundLayout> best;
  for (auto first = timed.begin(); first != timed.end() && best.size() < limits.layouts;) {
    const auto rest = std::stable_partition(first, timed.end(),
                                            [choice = first->choice](const FoundLayout& found) {
                                              return same_distribution(found.choice, choice);
                                            });
    if (!best.empty()) put_preferred_first(first, rest, limits.tie);
    best.push_back(std::move(*first));
    first = rest;
  }
  std::sort(best.begin() + 1, best.end(), comes_before);
  return best;
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
