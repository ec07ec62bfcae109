// rotary.h -- rotary position embeddings (RoPE). A feature is paired with the one half a head
// further, as in Hugging Face's files.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/config/model_config.h"

namespace shoal::model {

// The cosines and sines of positions, half a head's features each.
struct Angles {
  at::Tensor cosines;  // positions x head_width / 2
  at::Tensor sines;
};

Angles rotary_angles(const config::RotaryConfig& rotary,
                     int64_t head_width,
                     int64_t length,
                     const at::TensorOptions& options);

// Returns the angles of given positions, in the shape of `positions` x half.
Angles angles_at(const Angles& angles, const at::Tensor& positions);

// Rotates queries or keys. x: batch x tokens x heads x features; angles: tokens x half, or batch x
// tokens x half.
at::Tensor rotate(const at::Tensor& x, const Angles& angles);

}  // namespace shoal::model
