// ranks.h -- this rank in a layout: its device, and the groups it communicates in.
//
//   Ranks ranks(world, config);
//   ranks.along(plan::Axis::kTp).all_reduce(...);
//
// Ranks is the only owner of a layout's groups: all of them are made at once, and then no further
// connections are accepted. plan/sharding.h lists them. Layers and the executor have handles.
#pragma once

#include "shoal/comm/group.h"
#include "shoal/comm/mesh_groups.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/sharding.h"

namespace shoal::parallel {

class Ranks {
 public:
  // Makes the layout of a config on all ranks of the world. Collective.
  Ranks(comm::World& world, const config::RunConfig& config);
  // Makes a layout of one rank for each rank of the world. Collective.
  static Ranks alone(comm::World& world);

  [[nodiscard]] const plan::Mesh& mesh() const { return groups_.mesh(); }
  [[nodiscard]] int rank() const { return rank_; }  // rank in the mesh
  [[nodiscard]] int size(plan::AxisSet axes) const { return mesh().size(axes); }
  // Returns this rank's position in its group along these axes.
  [[nodiscard]] int position(plan::AxisSet axes) const { return mesh().position(rank_, axes); }
  [[nodiscard]] c10::Device device() const { return device_; }

  [[nodiscard]] comm::Group along(plan::AxisSet axes) const { return groups_.along(axes); }

 private:
  Ranks(comm::MeshGroups groups, int rank, c10::Device device)
      : groups_(std::move(groups)), rank_(rank), device_(device) {}

  comm::MeshGroups groups_;
  int rank_;
  c10::Device device_;
};

using plan::kDataAxes;
using plan::kLossAxes;

}  // namespace shoal::parallel
