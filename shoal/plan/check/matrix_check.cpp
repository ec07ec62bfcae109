#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "shoal/plan/holdings.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/sharding.h"

namespace shoal::plan {
namespace {

using Range = std::pair<int64_t, int64_t>;  // first element and count

// Returns whether ranges, in any order, follow one another from 0 to `end`.
bool follow_one_another(std::vector<Range> ranges, int64_t end) {
  std::sort(ranges.begin(), ranges.end());
  int64_t at = 0;
  for (const auto& [first, count] : ranges) {
    if (first != at) return false;
    at += count;
  }
  return at == end;
}

// Returns whether boxes, which may overlap, cover a matrix: keys and values can lie on several
// tensor-parallel ranks.
bool cover(const Shape& shape, const std::vector<Box>& boxes) {
  std::vector<std::set<int64_t>> borders(shape.size());
  for (size_t dimension = 0; dimension < shape.size(); ++dimension) {
    borders[dimension].insert(0);
    for (const Box& box : boxes) {
      borders[dimension].insert(box.begin[dimension]);
      borders[dimension].insert(box.begin[dimension] + box.extent[dimension]);
    }
    borders[dimension].erase(shape[dimension]);
  }
  for (const int64_t row : borders[0]) {
    for (const int64_t column : borders[1]) {
      const Box element{{row, column}, {1, 1}};
      if (std::none_of(boxes.begin(), boxes.end(),
                       [&](const Box& box) { return intersection(box, element).has_value(); }))
        return false;
    }
  }
  return true;
}

// The parts of a matrix are its elements, each at one place of one rank at least.
bool is_whole(const WholeMatrix& matrix) {
  std::vector<Box> boxes;
  for (size_t place = 0; place < matrix.boxes.size(); ++place) {
    int64_t elements = 0;
    for (const Box& box : matrix.boxes[place]) {
      elements += static_cast<int64_t>(elements_of(box));
      boxes.push_back(box);
    }
    std::vector<Range> ranges;
    for (const MatrixPart& part : matrix.parts) {
      if (part.place == static_cast<int>(place)) ranges.emplace_back(part.first, part.count);
    }
    if (!follow_one_another(std::move(ranges), elements)) return false;
  }
  return cover({matrix.rows, matrix.columns}, boxes);
}

// Follows the parts of one rank through the rounds.
class Rounds {
 public:
  explicit Rounds(const RankPlan& plan)
      : plan_(plan),
        axes_(matrix_axes(plan.config.parallel)),
        self_(plan.mesh.position(plan.rank, axes_)) {
    for (size_t round = 0; round < plan.matrices.size(); ++round) check_round(round);
    check_holdings();
  }

  [[nodiscard]] std::vector<config::Problem> take() { return std::move(problems_); }

 private:
  using Held = std::tuple<std::string, size_t, int64_t, int64_t, int64_t>;

  void note(size_t round, const std::string& name, const char* what) {
    problems_.push_back({.where = format("rank {}, round {} of matrices", plan_.rank, round),
                         .what = format("{} {}", name, what)});
  }

  void check_round(size_t round) {
    std::set<std::pair<int, int>> meetings;  // of two ranks
    for (size_t owner = 0; owner < plan_.matrices[round].size(); ++owner) {
      const WholeMatrix& matrix = plan_.matrices[round][owner];
      if (static_cast<int>(owner) >= plan_.ranks(axes_)) note(round, matrix.name, "has no owner");
      if (!is_whole(matrix)) note(round, matrix.name, "would not be whole");
      for (const MatrixPart& part : matrix.parts) {
        if (!meetings.emplace(static_cast<int>(owner), part.rank).second)
          note(round, matrix.name, "comes to its owner twice from one rank: parts can be swapped");
        if (part.rank == self_)
          ++mine_[{matrix.name, plan_.group_number(matrix.chunk, matrix.group), part.first,
                   part.count, part.offset}];
      }
    }
  }

  void check_holdings() {
    for (const Holding& holding : holdings_of(plan_)) {
      if (plan_.matrices.empty() || !is_orthogonalized(*holding.weight)) continue;
      const auto found = mine_.find(
          {holding.weight->name, holding.group, holding.first, holding.count, holding.offset});
      if (found == mine_.end()) {
        note(0, holding.weight->name, "is in no round");
        continue;
      }
      if (found->second != 1) note(0, holding.weight->name, "is in more than one round");
      mine_.erase(found);
    }
    for (const auto& [held, times] : mine_)
      note(0, std::get<0>(held), "is exchanged, and this rank does not hold that part");
  }

  const RankPlan& plan_;
  const AxisSet axes_;
  const int self_;
  std::map<Held, int> mine_;  // parts of this rank, and how often they are exchanged
  std::vector<config::Problem> problems_;
};

}  // namespace

std::vector<config::Problem> check_matrices(const RankPlan& plan) { return Rounds(plan).take(); }

}  // namespace shoal::plan
