#include "shoal/plan/replicas.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "shoal/core/error.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/layout.h"

namespace shoal::plan {
namespace {

using config::ParallelConfig;

// The axis whose ranks are replicas, and of which some can go. Without sharding those of dp_shard
// are replicas too.
Axis replica_axis(const ParallelConfig& parallel) {
  const bool no_shard = parallel.sharding == config::Sharding::kNoShard;
  return no_shard && parallel.dp_replicate == 1 ? Axis::kDpShard : Axis::kDpReplicate;
}

int ranks_of_replica(const ParallelConfig& parallel, int ranks) {
  return ranks / mesh_of(parallel, ranks).size(replica_axis(parallel));
}

// Seats by replica, and by place within it.
using Grid = std::vector<std::vector<std::optional<int>>>;

// Puts the seats that are left where they were.
Grid grid_of(const Mesh& mesh, Axis axis, const cluster::Round& round, const std::set<int>& left) {
  Grid grid(static_cast<size_t>(mesh.size(axis)),
            std::vector<std::optional<int>>(static_cast<size_t>(mesh.num_groups(axis))));
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const int seat = round.seats[static_cast<size_t>(rank)];
    if (!left.contains(seat)) continue;
    grid[static_cast<size_t>(mesh.coordinate(rank, axis))]
        [static_cast<size_t>(mesh.group_index(rank, axis))] = seat;
  }
  return grid;
}

// Keeps the fullest replicas, in their order; the first among them, because seat 0 is there. Returns
// the others.
Grid cut_to(size_t replicas, Grid& grid) {
  const auto present = [](const auto& replica) {
    return std::count_if(replica.begin(), replica.end(),
                         [](const std::optional<int>& seat) { return seat.has_value(); });
  };
  Grid cut;
  while (grid.size() > replicas) {
    // The last of those with the fewest.
    const auto emptiest =
        std::min_element(grid.rbegin(), std::prev(grid.rend()),
                         [&](const auto& a, const auto& b) { return present(a) < present(b); });
    cut.push_back(std::move(*emptiest));
    grid.erase(std::next(emptiest).base());
  }
  grid.resize(replicas, std::vector<std::optional<int>>(grid.front().size()));
  return cut;
}

// Fills the holes: with ranks of the same place, which have its state, then with any that are free.
void fill(Grid& grid, Grid cut, const std::vector<int>& waiting) {
  for (auto& replica : grid) {
    for (size_t place = 0; place < replica.size(); ++place) {
      for (size_t i = 0; i < cut.size() && !replica[place]; ++i)
        std::swap(replica[place], cut[i][place]);
    }
  }
  std::deque<int> free(waiting.begin(), waiting.end());
  for (const auto& replica : cut) {
    for (const std::optional<int>& seat : replica) {
      if (seat) free.push_back(*seat);
    }
  }
  for (auto& replica : grid) {
    for (std::optional<int>& seat : replica) {
      if (seat) continue;
      seat = free.front();
      free.pop_front();
    }
  }
}

bool is_at(const Grid& grid, size_t place, int seat) {
  return std::any_of(grid.begin(), grid.end(),
                     [&](const auto& replica) { return replica[place] == seat; });
}

// Returns the seats that had a place before and have finished this step.
std::vector<int> holders_of(const Grid& before,
                            size_t place,
                            const std::map<int, int64_t>& steps,
                            int64_t step) {
  std::vector<int> holders;
  for (const auto& replica : before) {
    if (!replica[place]) continue;
    const auto found = steps.find(*replica[place]);
    if (found != steps.end() && found->second == step) holders.push_back(*replica[place]);
  }
  return holders;
}

// Returns what has to be sent so that the next round has the state of a step: at every place on some
// rank that was at this place before. Nothing when nobody has a part of it.
std::optional<std::vector<cluster::StateTransfer>> transfers_for(
    int64_t step, const Grid& before, const Grid& grid, const std::map<int, int64_t>& steps) {
  std::vector<cluster::StateTransfer> transfers;
  for (size_t place = 0; place < grid.front().size(); ++place) {
    const std::vector<int> holders = holders_of(before, place, steps, step);
    if (holders.empty()) return std::nullopt;
    const bool there = std::any_of(holders.begin(), holders.end(),
                                   [&](int seat) { return is_at(grid, place, seat); });
    if (there) continue;
    // Ranks of a place are put at no other one as long as they are needed there.
    const int receiver = *grid.front()[place];
    SHOAL_CHECK(is_at(before, place, receiver), "seat {} cannot take the state of seat {}",
                receiver, holders.front());
    transfers.push_back({.from = holders.front(), .to = receiver});
  }
  return transfers;
}

// A step whose state the next round has, after these transfers.
struct WholeStep {
  int64_t step = 0;
  std::vector<cluster::StateTransfer> transfers;
};

// Returns the last step whose state is there, if need be after transfers.
std::optional<WholeStep> whole_step(const Grid& before,
                                    const Grid& grid,
                                    const std::vector<cluster::RoundReport>& reports) {
  std::map<int, int64_t> steps;
  std::set<int64_t> candidates;
  for (const cluster::RoundReport& report : reports) {
    if (!report.step) continue;
    steps[report.seat] = *report.step;
    candidates.insert(*report.step);
  }
  for (auto step = candidates.rbegin(); step != candidates.rend(); ++step) {
    std::optional<std::vector<cluster::StateTransfer>> transfers =
        transfers_for(*step, before, grid, steps);
    if (transfers) return WholeStep{*step, std::move(*transfers)};
  }
  return std::nullopt;
}

// Returns the most replicas that so many processes can run, at most as many as the job began with;
// 0 and the reason when there is none.
std::pair<int, std::string> most_replicas(const config::RunConfig& config,
                                          int ranks,
                                          int processes) {
  const int size = ranks_of_replica(config.parallel, ranks);
  std::string why = format("{} ranks are left, and a replica needs {}", processes, size);
  for (int replicas = std::min(ranks, processes) / size; replicas > 0; --replicas) {
    config::RunConfig fewer = config;
    fewer.parallel = replicas_left(config.parallel, ranks, replicas * size);
    const std::vector<config::Problem> problems = why_not(fewer, replicas * size);
    if (problems.empty()) return {replicas, ""};
    why = config::report("the layout that is left cannot be run", problems);
  }
  return {0, why};
}

}  // namespace

bool has_replicas(const ParallelConfig& parallel, int ranks) {
  return ranks_of_replica(parallel, ranks) < ranks;
}

ParallelConfig replicas_left(const ParallelConfig& parallel, int ranks, int left) {
  const int size = ranks_of_replica(parallel, ranks);
  SHOAL_CHECK(left % size == 0, "{} ranks are no whole number of replicas of {}", left, size);
  ParallelConfig fewer = parallel;
  if (replica_axis(parallel) == Axis::kDpShard) {
    fewer.dp_shard = left / size;
  } else {
    fewer.dp_shard = mesh_of(parallel, ranks).size(Axis::kDpShard);
    fewer.dp_replicate = left / size;
    // One replica that is sharded is what full_shard means.
    if (fewer.dp_replicate == 1 && fewer.sharding == config::Sharding::kHybridShard)
      fewer.sharding = config::Sharding::kFullShard;
  }
  return fewer;
}

cluster::RoundDecision without_lost_replicas(const config::RunConfig& config,
                                             int ranks,
                                             const cluster::Round& over,
                                             const cluster::RoundEnd& end) {
  const Axis axis = replica_axis(config.parallel);
  const auto mesh_on = [&](size_t left) {
    const auto count = static_cast<int>(left);
    return mesh_of(replicas_left(config.parallel, ranks, count), count);
  };
  // Whoever has no state need not stay where it was; but rank 0 is where the store is.
  std::set<int> staying;
  std::vector<int> free = end.waiting;
  for (const cluster::RoundReport& report : end.reports) {
    if (report.step || report.seat == over.seats.front()) {
      staying.insert(report.seat);
    } else {
      free.push_back(report.seat);
    }
  }
  const auto [replicas, why] =
      most_replicas(config, ranks, static_cast<int>(staying.size() + free.size()));
  if (replicas == 0) return {.why = why};
  const Grid before = grid_of(mesh_on(over.seats.size()), axis, over, staying);
  Grid grid = before;
  Grid cut = cut_to(static_cast<size_t>(replicas), grid);
  fill(grid, std::move(cut), free);
  const std::optional<WholeStep> whole = whole_step(before, grid, end.reports);
  if (!whole) return {.why = "no step is whole on the ranks that are left"};
  cluster::RoundDecision decision{.seats = {}, .step = whole->step, .transfers = whole->transfers};
  const Mesh mesh = mesh_on(static_cast<size_t>(replicas) * grid.front().size());
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const auto& replica = grid[static_cast<size_t>(mesh.coordinate(rank, axis))];
    decision.seats.push_back(*replica[static_cast<size_t>(mesh.group_index(rank, axis))]);
  }
  return decision;
}

}  // namespace shoal::plan
