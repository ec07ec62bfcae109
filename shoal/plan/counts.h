// counts.h -- parameters, operations and bytes of a model, before any layout; and what rules of
// thumb make of it.
//
//   const ModelCounts counts = counts_of(config.model);
//   counts.parameters(), counts.training_operations()
//   rule_of_thumb(config.model, /*batch=*/256).parameters
#pragma once

#include <cstdint>

#include "shoal/config/run_config.h"

namespace shoal::plan {

struct ModelCounts {
  // Parameters; a matrix that embedding and head share counts for the embedding.
  int64_t embedding = 0;
  int64_t blocks = 0;
  int64_t head = 0;
  // Floating-point operations of a forward pass for one token of a full context.
  double products = 0;
  double attention = 0;  // as if it were not causal

  [[nodiscard]] int64_t parameters() const { return embedding + blocks + head; }
  // Returns the operations of forward and backward for one token, without recomputation.
  [[nodiscard]] double training_operations() const { return 3 * (products + attention); }
};

// Returns the counts of a model whose vocab_size is set.
ModelCounts counts_of(const config::ModelConfig& model);

// Bytes that training keeps for one parameter.
struct StateBytes {
  int64_t weights = 0;  // in compute precision
  int64_t gradients = 0;
  int64_t masters = 0;    // fp32 weights beside those of half precision
  int64_t optimizer = 0;  // the moments

  [[nodiscard]] int64_t total() const { return weights + gradients + masters + optimizer; }
};

StateBytes state_bytes(const config::RunConfig& config);

// The formulas that courses on distributed training teach, for a GPT with N layers of width D, N_h
// heads, V tokens and a context of T:
//
//   P = N (12 D^2 + 10 D) + D (V + T) + 2 D + V (D + 1)
//   activations = 5 N B T D + B N N_h T^2 + 2 B V T + 2 B T D
//
// They count an untied head with a bias and no biases of queries, keys and values; 14 bytes for a
// parameter, which are a weight of 2 bytes and three fp32 values of the optimizer without a gradient;
// and no gated MLP and no grouped heads.
struct RuleOfThumb {
  int64_t parameters = 0;
  int64_t bytes = 0;       // of weights and optimizer
  int64_t optimizer = 0;   // values
  double activations = 0;  // values
  double other = 0;        // values: tokens and targets

  // Returns how many devices of so many bytes hold the state.
  [[nodiscard]] int64_t devices(int64_t device_bytes) const {
    return (bytes + device_bytes - 1) / device_bytes;
  }
};

RuleOfThumb rule_of_thumb(const config::ModelConfig& model, int64_t batch);

// Bytes per rank of weights, gradients and optimizer as the ZeRO paper counts them: 2 + 2 + 12.
struct ZeroBytes {
  double no_shard = 0;
  double optimizer = 0;      // ZeRO-1
  double shard_grad_op = 0;  // ZeRO-2
  double full_shard = 0;     // ZeRO-3
};

ZeroBytes zero_bytes(double parameters, int ranks);

}  // namespace shoal::plan
