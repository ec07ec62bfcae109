#include "app/engine/cmd_doctor.h"

#include <iostream>
#include <numeric>

#include <ATen/ops/full.h>

#include "shoal/cluster/address.h"
#include "shoal/comm/backends.h"
#include "shoal/comm/mesh_groups.h"
#include "shoal/core/error.h"
#include "shoal/plan/layout.h"

#include "app/cmd_doctor.h"
#include "app/engine/data_parallel_check.h"
#include "app/engine/engine_facts.h"
#include "app/engine/job.h"

namespace shoal::app {
namespace {

// Makes a group for every axis of the mesh with more than one rank, and sums the ranks' numbers in
// each.
std::string check_axes(comm::World& world, const plan::Mesh& mesh) {
  std::vector<plan::AxisSet> axes;
  for (const plan::Mesh::Dimension& dimension : mesh.dimensions()) {
    if (dimension.size > 1) axes.emplace_back(dimension.axis);
  }
  comm::MeshGroups groups(world, mesh, axes);
  for (const plan::AxisSet set : axes) {
    comm::Group group = groups.along(set);
    const at::Tensor sum =
        at::full({1}, world.rank(), at::TensorOptions(at::kLong).device(world.device()));
    group.all_reduce(sum, comm::Reduce::kSum, "doctor axis").wait_host();
    const int64_t expected =
        std::accumulate(group.ranks().begin(), group.ranks().end(), int64_t{0});
    if (sum.item<int64_t>() != expected) {
      throw BugError(format("the ranks along {} add up to {}, not {}", set.name(),
                            sum.item<int64_t>(), expected));
    }
  }
  return mesh.describe();
}

void add_proof(Report& report, comm::World& world, const config::RunConfig& config) {
  std::vector<int> everyone(static_cast<size_t>(world.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  comm::Group group = world.group("doctor", everyone);
  const DataParallelResult result = check_data_parallel(world, group, config.run.seed);
  const bool holds = result.max_difference <= kLargestRoundOff;
  report.section("proof")
      .add("mesh", check_axes(world, plan::mesh_of(config.parallel, world.size())))
      .add("loss", {result.first_loss, result.last_loss},
           format("{:.4f} -> {:.4f} in {} steps, {:.1f} s", result.first_loss, result.last_loss,
                  result.steps, result.seconds))
      .add("max difference", result.max_difference,
           format("{:.2g} from one rank's weights", result.max_difference))
      .add("verdict", holds,
           holds ? "these ranks train like one" : "WRONG: these ranks do not train like one");
  if (!holds) {
    throw Error(
        ExitCode::kUnequal,
        format("{} ranks end {:.2g} away from one rank's weights; round-off is below {:.0g}",
               world.size(), result.max_difference, kLargestRoundOff));
  }
}

// Checks what joining would check, because without a launcher no rank joins.
void check_set_up(const Job& job) {
  if (job.launched()) return;
  const config::CommConfig& comm = job.config.comm;
  for (const comm::BackendStatus& status : comm::backend_table()) {
    if (status.backend != comm.backend || status.usable) continue;
    throw UsageError(format("comm.backend is {}, which cannot be used here: {}",
                            config::write_value(comm.backend), status.text));
  }
  if (comm.interface) cluster::address_of_interface(*comm.interface);
}

}  // namespace

int run_engine_doctor(const std::vector<std::string>& arguments) {
  const std::optional<DoctorOptions> options = parse_doctor(arguments);
  if (!options) return 0;
  const Job job = start_job(options->file, options->sets, RankCheck::kAnyWhenAlone);
  check_set_up(job);
  Report report = facts_of(job);
  if (job.launched()) {
    ActivityBoard board;
    const ActivityBoard::Seat seat(board, "main");
    comm::WorldOptions options_of_world = world_options(job);
    options_of_world.board = &board;
    const auto world = comm::World::join(job.me, job.environment, options_of_world);
    add_world_facts(report, *world);
    add_proof(report, *world, job.config);
    world->leave();
  }
  if (job.speaks()) std::cout << (options->json ? report.json() : report.text());
  return 0;
}

}  // namespace shoal::app
