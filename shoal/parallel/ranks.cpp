#include "shoal/parallel/ranks.h"

#include <ATen/Context.h>

#include "shoal/core/error.h"
#include "shoal/plan/layout.h"

namespace shoal::parallel {
namespace {

// Device `auto` is this rank's GPU on its host, if there is one.
c10::Device device_of(config::DeviceKind kind, const comm::World& world) {
  const bool there = at::hasCUDA();
  if (kind == config::DeviceKind::kCuda && !there)
    throw UsageError("train.device is cuda, but this build or host has none; write `device: auto`");
  if (kind == config::DeviceKind::kCpu || !there) return c10::Device(c10::kCPU);
  const auto gpus = static_cast<int>(at::getNumGPUs());
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(world.membership().local_rank % gpus)};
}

}  // namespace

Ranks::Ranks(comm::World& world, const config::RunConfig& config)
    : Ranks(comm::MeshGroups(
                world, plan::mesh_of(config.parallel, world.size()), plan::group_axes(config)),
            world.rank(),
            device_of(config.train.device, world)) {}

Ranks Ranks::alone(comm::World& world, config::DeviceKind device) {
  return {comm::MeshGroups::alone(world), 0, device_of(device, world)};
}

}  // namespace shoal::parallel
