// pass.h -- the inputs of a forward pass beside activations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/attention.h"
#include "shoal/model/functions/head_loss.h"
#include "shoal/model/functions/rotary.h"

namespace shoal::model {

// The keys and values of previous tokens, for generation. Each block appends in a pass; `length`
// grows when the pass is complete.
struct KeyValueCache {
  struct Layer {
    at::Tensor keys;  // batch x heads x capacity x features
    at::Tensor values;
  };

  std::vector<Layer> layers = {};
  int64_t capacity = 0;
  int64_t length = 0;
};

// The inputs of a forward pass beside activations: the same for all units.
struct Pass {
  at::Tensor tokens = {};  // int64, batch x tokens
  Documents documents = {};
  at::Tensor positions = {};            // int64, tokens or batch x tokens
  Angles angles = {};                   // angles of the positions, when they are rotary
  bool training = false;                // whether dropout is on
  uint64_t first_row = 0;               // number of the batch's first row in the run, for dropout
  std::optional<Targets> targets = {};  // if set, the head returns a loss; if not, logits
  int64_t first_logit = 0;              // without targets: logits of each row from this token on
  KeyValueCache* cache = nullptr;
};

// The targets of a pass that count in the loss: those that are not masked.
int64_t num_targets(const Pass& pass);

}  // namespace shoal::model
