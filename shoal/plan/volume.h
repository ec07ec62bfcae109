// volume.h -- the bytes that one rank of a layout communicates in one step, counted without running
// it.
//
//   const Mesh mesh = mesh_of(config.parallel, 16'384);
//   for (const Volume& volume : volume_of_step(config, mesh, /*rank=*/0))
//     volume.calls, volume.bytes, sent_bytes(volume);
//
// The figures are those of the calls that parallel/ makes, to the byte, with all padding: a test
// compares them with a recorded step of every layout. docs/parallel/volume.md explains them. Calls
// that happen once, at initialization, are not counted; nor are calls in groups of one rank, which
// move nothing.
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

// A communication call of an operation.
struct OperationCall {
  Traffic traffic = Traffic::kWeights;
  Exchange exchange = Exchange::kAllGather;
  AxisSet axes;       // axes of the group
  int64_t bytes = 0;  // the larger of one rank's input and output
};

// Returns the calls that an operation makes, in order.
std::vector<OperationCall> calls_of(const RankPlan& plan, const Operation& operation);

struct Volume {
  Traffic traffic = Traffic::kWeights;
  Exchange exchange = Exchange::kAllGather;
  AxisSet axes;   // axes of the group whose size is above 1
  int ranks = 1;  // ranks of the group
  int64_t calls = 0;
  // Sum over all calls of OperationCall::bytes.
  int64_t bytes = 0;

  bool operator==(const Volume&) const = default;
};

// Returns one entry per traffic and exchange, in this order.
std::vector<Volume> volume_of(const RankPlan& plan, const Program& program);

// Returns the volumes of a training step. `config` has been checked for the ranks of the mesh, and
// model.vocab_size is set.
std::vector<Volume> volume_of_step(const config::RunConfig& config, const Mesh& mesh, int rank);

// Returns the bytes that the rank sends over the network with direct or ring algorithms: (n - 1) /
// n of a gather or reduce-scatter, twice that of an all-reduce.
double sent_bytes(const Volume& volume);

}  // namespace shoal::plan
