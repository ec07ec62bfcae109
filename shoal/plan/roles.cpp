#include "shoal/plan/roles.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "shoal/plan/planned_job.h"
#include "shoal/plan/volume.h"

namespace shoal::plan {
namespace {

// Everything that makes a role, as numbers.
using Signature = std::vector<int64_t>;

void append_operation(const RankPlan& plan, const Operation& operation, Signature& signature) {
  for (const int64_t number :
       {static_cast<int64_t>(operation.kind), static_cast<int64_t>(operation.pass),
        static_cast<int64_t>(operation.keeps), static_cast<int64_t>(operation.adds),
        static_cast<int64_t>(operation.chunk), static_cast<int64_t>(operation.index),
        static_cast<int64_t>(operation.micro_batch)})
    signature.push_back(number);
  for (const OperationCall& call : calls_of(plan, operation)) {
    signature.push_back(static_cast<int64_t>(call.exchange));
    signature.push_back(call.bytes);
  }
}

Signature signature_of(const RankPlan& plan, const Program& program) {
  Signature signature = plan.rows;
  for (const StagePlan& stage : plan.stages) {
    for (const blueprint::UnitBlueprint& unit : stage.units) {
      signature.push_back(static_cast<int64_t>(unit.kind));
      for (const blueprint::WeightSpec& weight : unit.weights) {
        signature.push_back(static_cast<int64_t>(counts(plan, stage, weight)));
        for (const int64_t extent : weight.local_shape()) signature.push_back(extent);
      }
    }
  }
  for (const Operation& operation : program) append_operation(plan, operation, signature);
  return signature;
}

// A position along the axes of data, and how many like it there are.
struct DataPlace {
  int position = 0;
  int alike = 1;
};

std::vector<DataPlace> distinct_places(const config::RunConfig& config, const Mesh& mesh) {
  const int ranks = mesh.size(kDataAxes);
  const bool last_is_own = config.optimizer.kind == config::OptimizerKind::kMuon && ranks > 1;
  std::map<std::pair<int64_t, bool>, DataPlace> by_rows;
  for (int place = 0; place < ranks; ++place) {
    const int64_t rows = sequences_of(config, mesh, place);
    const bool own = last_is_own && place + 1 == ranks;
    const auto [found, is_new] = by_rows.try_emplace({rows, own}, DataPlace{.position = place});
    if (!is_new) ++found->second.alike;
  }
  std::vector<DataPlace> places;
  places.reserve(by_rows.size());
  for (const auto& [rows, place] : by_rows) places.push_back(place);
  std::sort(places.begin(), places.end(),
            [](const DataPlace& a, const DataPlace& b) { return a.position < b.position; });
  return places;
}

}  // namespace

std::vector<Role> roles_of(const config::RunConfig& config, const Mesh& mesh) {
  const PlannedJob job(config, mesh);
  const std::vector<int> data_ranks = mesh.peers(0, kDataAxes);
  std::map<Signature, Role> roles;
  for (const DataPlace& place : distinct_places(config, mesh)) {
    const int first = data_ranks[static_cast<size_t>(place.position)];
    for (const int rank : mesh.peers(first, {Axis::kPp, Axis::kTp})) {
      auto [plan, program] = job.rank(rank);
      Signature signature = signature_of(plan, program);
      const auto found =
          roles.try_emplace(std::move(signature), Role{std::move(plan), std::move(program)}).first;
      found->second.ranks += place.alike;
    }
  }
  std::vector<Role> ordered;
  ordered.reserve(roles.size());
  for (auto& [signature, role] : roles) ordered.push_back(std::move(role));
  std::sort(ordered.begin(), ordered.end(),
            [](const Role& a, const Role& b) { return a.plan.rank < b.plan.rank; });
  return ordered;
}

}  // namespace shoal::plan
