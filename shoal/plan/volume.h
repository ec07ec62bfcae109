// volume.h -- what one rank of a layout communicates in one step, counted without running it.
//
//   const Mesh mesh = mesh_of(config.parallel, 16'384);
//   for (const Volume& volume : volume_of_step(config, mesh, /*rank=*/0))
//     volume.calls, volume.bytes, sent_bytes(volume);
//
// The figures are those of the calls that parallel/ makes, to the byte, with all padding: a test compares
// them with a recorded step of every layout. docs/parallel/volume.md has them in words. What happens once, when
// weights are made, is not counted; nor are groups of one rank, whose calls move nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/blueprint/traffic.h"
#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/program.h"

namespace shoal::plan {

using blueprint::Exchange;
using blueprint::Traffic;

// One call of an operation.
struct OperationCall {
  Traffic traffic = Traffic::kWeights;
  Exchange exchange = Exchange::kAllGather;
  AxisSet axes;  // of the group
  int64_t bytes =
      0;  // of the full side: what one rank ends up with, or starts from, whichever is larger
};

// The calls that an operation makes, in their order.
std::vector<OperationCall> calls_of(const RankPlan& plan, const Operation& operation);

struct Volume {
  Traffic traffic = Traffic::kWeights;
  Exchange exchange = Exchange::kAllGather;
  AxisSet axes;   // of the group, without those along which there is nobody else
  int ranks = 1;  // of the group
  int64_t calls = 0;
  // Of all calls. Of each, the full side: what one rank ends up with, or starts from, whichever is larger.
  int64_t bytes = 0;

  bool operator==(const Volume&) const = default;
};

// By traffic, then exchange.
std::vector<Volume> volume_of(const RankPlan& plan, const Program& program);

// Of a training step. `config` is checked for the ranks of the mesh, model.vocab_size is given.
std::vector<Volume> volume_of_step(const config::RunConfig& config, const Mesh& mesh, int rank);

// What the rank really hands to the network when parts are sent straight to where they belong, or around a
// ring: (n - 1) / n of a gather or reduce-scatter, twice that of an all-reduce.
double sent_bytes(const Volume& volume);

}  // namespace shoal::plan
