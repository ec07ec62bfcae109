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
#include <string_view>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/plan/mesh.h"

namespace shoal::plan {

// What is sent, and why.
enum class Traffic : uint8_t {
  kWeights,              // shards of units that become whole
  kGradients,            // whole gradients that become shards of their sum
  kGradientsOverCopies,  // of ranks with the same weights
  kPartialGradients,     // of weights that every tensor-parallel rank has
  kTiedGradient,         // of the tied matrix, between the ends of a pipeline
  kTensorActivations,    // rows around the matrices of blocks
  kKeysAndValues,        // heads that several tensor-parallel ranks need
  kQkNorm,               // sums over features of which each rank has some
  kEmbedding,            // rows of tokens that other ranks look up
  kHead,                 // rows, and what cross-entropies need of all ranks
  kActivations,          // from stage to stage
  kActivationGradients,  // back
  kTargets,              // that count in the step
  kLoss,
  kNorm,      // of all gradients
  kMatrices,  // parts of matrices that muon turns, and what they became
};

constexpr int kNumTraffics = 16;

std::string_view traffic_name(Traffic traffic);  // "weights", "gradients over copies", ...

enum class Exchange : uint8_t { kAllGather, kReduceScatter, kAllReduce, kSend, kReceive };

std::string_view exchange_name(Exchange exchange);  // "all_gather", ...

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

// By traffic, then exchange. `config` is checked for the ranks of the mesh, model.vocab_size is given.
std::vector<Volume> volume_of_step(const config::RunConfig& config, const Mesh& mesh, int rank);

// What the rank really hands to the network when parts are sent straight to where they belong, or around a
// ring: (n - 1) / n of a gather or reduce-scatter, twice that of an all-reduce.
double sent_bytes(const Volume& volume);

}  // namespace shoal::plan
