// traffic.h -- the kinds of communication in a step.
#pragma once

#include <cstdint>
#include <string_view>

namespace shoal::blueprint {

enum class Traffic : uint8_t {
  kWeights,                // all-gather of sharded weights
  kGradients,              // reduce-scatter of gradients
  kGradientsOverReplicas,  // all-reduce of gradients over replicas
  kPartialGradients,       // partial gradients of weights that every tensor-parallel rank has
  kTiedGradient,           // gradient of the tied matrix, between the ends of a pipeline
  kTensorActivations,      // activations in front of and behind the matrices of a block
  kKeysAndValues,          // key and value heads that several tensor-parallel ranks need
  kQkNorm,                 // sums over features that are split over ranks
  kEmbedding,              // rows of the embedding that other ranks look up
  kHead,                   // activations in front of the head, and statistics of its cross-entropy
  kActivations,            // activations, from stage to stage
  kActivationGradients,    // gradients of activations, back
  kTargets,                // number of targets in the loss of the step
  kLoss,
  kNorm,      // gradient norm
  kMatrices,  // matrices that Muon orthogonalizes, to their owner and back
};

constexpr int kNumTraffics = 16;

std::string_view traffic_name(Traffic traffic);  // "weights", "gradients over copies", ...

enum class Exchange : uint8_t { kAllGather, kReduceScatter, kAllReduce, kSend, kReceive };

std::string_view exchange_name(Exchange exchange);  // "all_gather", ...

}  // namespace shoal::blueprint
