#include <map>
#include <vector>

#include "shoal/core/error.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/planned_job.h"
#include "shoal/plan/program_check.h"

namespace shoal::plan {
namespace {

// Returns one data-parallel rank for each number of sequences.
std::vector<int> kinds_of_samples(const config::RunConfig& config, const Mesh& mesh) {
  std::map<int64_t, int> places;
  for (int place = 0; place < mesh.size(kDataAxes); ++place)
    places.try_emplace(sequences_of(config, mesh, place), place);
  std::vector<int> kinds;
  kinds.reserve(places.size());
  for (const auto& [rows, place] : places) kinds.push_back(place);
  return kinds;
}

int rank_at(const Mesh& mesh, int pipeline_rank, int tensor_rank, int data_place) {
  const std::vector<int> stages = mesh.peers(0, Axis::kPp);
  const std::vector<int> tensor = mesh.peers(stages[static_cast<size_t>(pipeline_rank)], Axis::kTp);
  const std::vector<int> data = mesh.peers(tensor[static_cast<size_t>(tensor_rank)], kDataAxes);
  return data[static_cast<size_t>(data_place)];
}

}  // namespace

// A rank's operations depend on its stage alone; its tensor-parallel rank and the number of its
// sequences change sizes only.
std::vector<config::Problem> check_job(const config::RunConfig& config, int ranks) {
  const Mesh mesh = mesh_of(config.parallel, ranks);
  const PlannedJob job(config, mesh);
  const std::vector<PlannedRank> stages = job.stages();
  std::vector<config::Problem> problems;
  const auto note = [&](std::vector<config::Problem> found) {
    problems.insert(problems.end(), found.begin(), found.end());
  };
  std::vector<CheckedRank> pipeline;
  pipeline.reserve(stages.size());
  for (const PlannedRank& first : stages) pipeline.push_back({&first.plan, &first.program});
  const std::vector<int> kinds = kinds_of_samples(config, mesh);
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    note(check_rank(pipeline[stage]));
    note(check_matrices(stages[stage].plan));
    for (int place = 0; place < mesh.size(Axis::kTp); ++place) {
      for (const int data : kinds) {
        const int rank = rank_at(mesh, static_cast<int>(stage), place, data);
        if (rank == stages[stage].plan.rank) continue;
        const auto [plan, program] = job.rank(rank);
        const CheckedRank other{&plan, &program};
        note(check_same_calls(pipeline[stage], other));
        note(check_rank(other));
        note(check_matrices(plan));
      }
    }
  }
  note(check_transfers(pipeline));
  return problems;
}

void require_proven(const config::RunConfig& config, int ranks) {
  const std::vector<config::Problem> problems = check_job(config, ranks);
  if (problems.empty()) return;
  throw BugError(config::report(format("the programs of {} ranks are wrong", ranks), problems));
}

}  // namespace shoal::plan
