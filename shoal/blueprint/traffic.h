// traffic.h -- what ranks send each other in a step, and why.
#pragma once

#include <cstdint>
#include <string_view>

namespace shoal::blueprint {

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
  kMatrices,  // parts of matrices that muon orthogonalizes, and what they became
};

constexpr int kNumTraffics = 16;

std::string_view traffic_name(Traffic traffic);  // "weights", "gradients over copies", ...

enum class Exchange : uint8_t { kAllGather, kReduceScatter, kAllReduce, kSend, kReceive };

std::string_view exchange_name(Exchange exchange);  // "all_gather", ...

}  // namespace shoal::blueprint
