// rotary.h -- positions as angles by which pairs of features are turned. The pairs are a feature and
// the one half a head further, as in Hugging Face's files.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/config/model_config.h"

namespace shoal::model {

// Cosines and sines for positions 0 .. length - 1, of half a head each.
struct Angles {
  at::Tensor cosines;  // length x head_width / 2
  at::Tensor sines;
};

Angles rotary_angles(const config::RotaryConfig& rotary,
                     int64_t head_width,
                     int64_t length,
                     const at::TensorOptions& options);

// The angles of given positions, in any shape of them.
Angles angles_at(const Angles& angles, const at::Tensor& positions);

// x: batch x tokens x heads x features; angles: tokens x half, or batch x tokens x half.
at::Tensor rotate(const at::Tensor& x, const Angles& angles);

}  // namespace shoal::model
