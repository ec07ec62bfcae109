// pass.h -- what a pass through the units of a decoder needs beside activations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/attention.h"
#include "shoal/model/functions/head_loss.h"
#include "shoal/model/functions/rotary.h"

namespace shoal::model {

// Keys and values of the tokens before, for generation. All blocks append in one pass, then the pass
// is complete and `length` grows.
struct KeyValueCache {
  struct Layer {
    at::Tensor keys;  // batch x heads x capacity x features
    at::Tensor values;
  };

  std::vector<Layer> layers = {};
  int64_t capacity = 0;
  int64_t length = 0;
};

// What a pass through the units needs beside activations: the same for all of them.
struct Pass {
  at::Tensor tokens = {};  // int64, batch x tokens
  Documents documents = {};
  at::Tensor positions = {};            // int64, tokens or batch x tokens
  Angles angles = {};                   // of the positions, when they are rotary
  bool training = false;                // dropout works
  uint64_t first_row = 0;               // of the batch in the run: what dropout depends on
  std::optional<Targets> targets = {};  // of the head: a loss; without them, scores
  int64_t first_score = 0;              // without: those of each row's tokens from here on
  KeyValueCache* cache = nullptr;
};

// The targets of a pass that count in the loss: those that are not masked.
int64_t num_targets(const Pass& pass);

}  // namespace shoal::model
