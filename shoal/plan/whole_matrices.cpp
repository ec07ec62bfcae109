#include "shoal/plan/whole_matrices.h"

#include <algorithm>
#include <span>

#include "shoal/plan/rank_plan.h"
#include "shoal/plan/sharding.h"
#include "shoal/plan/stages.h"

namespace shoal::plan {
namespace {

using config::RunConfig;

// The matrices of a stage, with the parts of all ranks that hold them.
class StageMatrices {
 public:
  StageMatrices(const RunConfig& config,
                const blueprint::UnitRange& stage,
                size_t chunk,
                int shards)
      : chunk_(chunk), shards_(shards) {
    for (int place = 0; place < config.parallel.tp; ++place)
      places_.push_back(
          stage_plan(config, stage, {.ranks = config.parallel.tp, .rank = place}, shards));
  }

  // Ranks of one shard are adjacent, in tensor-parallel order.
  void append_to(std::vector<WholeMatrix>& matrices) const {
    for (size_t group = 0; group < places_.front().groups.size(); ++group) {
      const size_t first = matrices.size();
      declare(group, matrices);
      for (int shard = 0; shard < shards_; ++shard) {
        for (size_t place = 0; place < places_.size(); ++place)
          add_parts(group, shard, place,
                    {matrices.begin() + static_cast<ptrdiff_t>(first), matrices.end()});
      }
    }
  }

 private:
  void declare(size_t group, std::vector<WholeMatrix>& matrices) const {
    for (const size_t unit : places_.front().groups[group].units) {
      for (size_t i = 0; i < places_.front().units[unit].weights.size(); ++i) {
        const blueprint::WeightSpec& weight = places_.front().units[unit].weights[i];
        if (!is_orthogonalized(weight)) continue;
        WholeMatrix matrix{.name = weight.name,
                           .rows = weight.shape[0],
                           .columns = weight.shape[1],
                           .chunk = chunk_,
                           .group = group};
        for (const StagePlan& place : places_)
          matrix.boxes.push_back(place.units[unit].weights[i].parts);
        matrices.push_back(std::move(matrix));
      }
    }
  }

  void add_parts(size_t group, int shard, size_t place, std::span<WholeMatrix> matrices) const {
    const StagePlan& stage = places_[place];
    const GroupPlan& held = stage.groups[group];
    const int64_t begin = held.shard * shard;
    for (const blueprint::FlatPiece& piece :
         pieces_within(stage, held, begin, begin + held.shard)) {
      const auto matrix = std::find_if(
          matrices.begin(), matrices.end(),
          [&](const WholeMatrix& candidate) { return candidate.name == piece.weight->name; });
      if (matrix == matrices.end()) continue;
      matrix->parts.push_back(
          {.rank = shard * static_cast<int>(places_.size()) + static_cast<int>(place),
           .place = static_cast<int>(place),
           .first = piece.first,
           .count = piece.count,
           .offset = piece.offset});
    }
  }

  size_t chunk_;
  int shards_;
  std::vector<StagePlan> places_;
};

}  // namespace

bool is_orthogonalized(const blueprint::WeightSpec& weight) {
  return weight.is_matrix() && weight.name.starts_with("blocks.");
}

std::vector<MatrixRound> matrix_rounds(const RunConfig& config, const Mesh& mesh, int rank) {
  const config::ParallelConfig& parallel = config.parallel;
  const std::vector<blueprint::UnitRange> stages =
      cut_into_stages(config.model.layers, parallel.pp * parallel.chunks);
  std::vector<WholeMatrix> matrices;
  for (int chunk = 0; chunk < parallel.chunks; ++chunk) {
    const int number = chunk * parallel.pp + mesh.position(rank, Axis::kPp);
    StageMatrices(config, stages[static_cast<size_t>(number)], static_cast<size_t>(chunk),
                  mesh.size(shard_axes(parallel)))
        .append_to(matrices);
  }
  std::stable_sort(matrices.begin(), matrices.end(),
                   [](const WholeMatrix& a, const WholeMatrix& b) {
                     return a.rows * a.columns > b.rows * b.columns;
                   });
  const auto ranks = static_cast<size_t>(mesh.size(matrix_axes(parallel)));
  std::vector<MatrixRound> rounds;
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (i % ranks == 0) rounds.emplace_back();
    rounds.back().push_back(std::move(matrices[i]));
  }
  return rounds;
}

// The matrix is there in parts and whole, and so are its last two iterates, beside two square ones.
int64_t working_elements(const MatrixRound& round, int rank) {
  int64_t elements = 0;
  for (const WholeMatrix& matrix : round) {
    for (const MatrixPart& part : matrix.parts) elements += part.rank == rank ? part.count : 0;
  }
  if (static_cast<size_t>(rank) < round.size()) {
    const WholeMatrix& own = round[static_cast<size_t>(rank)];
    const int64_t shorter = std::min(own.rows, own.columns);
    elements += 4 * own.rows * own.columns + 2 * shorter * shorter;
  }
  return elements;
}

}  // namespace shoal::plan
