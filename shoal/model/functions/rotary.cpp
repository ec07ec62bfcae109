#include "shoal/model/functions/rotary.h"

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

#include "shoal/model/functions/recording.h"

namespace shoal::model {
namespace {

// Turns per token, times 2 pi.
double frequency(const config::RotaryConfig& rotary, int64_t pair, int64_t head_width) {
  return std::pow(rotary.theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head_width));
}

// Long waves are stretched, short ones kept, with a linear passage between the two.
double stretched_by_wavelength(const config::RotaryConfig& rotary, double plain) {
  const double turns =
      static_cast<double>(rotary.original_context) * plain / (2 * std::numbers::pi);
  if (turns < rotary.low_frequency) return plain / rotary.factor;
  if (turns > rotary.high_frequency) return plain;
  const double share =
      (turns - rotary.low_frequency) / (rotary.high_frequency - rotary.low_frequency);
  return (1 - share) * plain / rotary.factor + share * plain;
}

double scaled_frequency(const config::RotaryConfig& rotary, int64_t pair, int64_t head_width) {
  const double plain = frequency(rotary, pair, head_width);
  switch (rotary.scaling) {
    case config::RotaryScaling::kNone:
      return plain;
    case config::RotaryScaling::kLinear:
      return plain / rotary.factor;
    case config::RotaryScaling::kLlama3:
      return stretched_by_wavelength(rotary, plain);
  }
  return plain;
}

// A GPU multiplies and adds mixed types in the wider one, in the operators themselves.
at::Tensor turned_in_few_launches(const at::Tensor& x,
                                  const at::Tensor& cosines,
                                  const at::Tensor& sines,
                                  double sign) {
  const at::Tensor halves = x.unflatten(-1, {2, -1});
  const at::Tensor wide = halves * cosines.unsqueeze(-2);
  at::Tensor y = at::empty(halves.sizes(), x.options());
  at::Tensor first = y.select(-2, 0);
  at::Tensor second = y.select(-2, 1);
  at::addcmul_out(first, wide.select(-2, 0), halves.select(-2, 1), sines, -sign);
  at::addcmul_out(second, wide.select(-2, 1), halves.select(-2, 0), sines, sign);
  return y.flatten(-2);
}

// Rotates forth with sign 1, back with -1.
at::Tensor turned(const at::Tensor& x,
                  const at::Tensor& cosines,
                  const at::Tensor& sines,
                  double sign) {
  if (x.is_cuda()) return turned_in_few_launches(x, cosines, sines, sign);
  const std::vector<at::Tensor> halves = x.to(cosines.scalar_type()).chunk(2, -1);
  at::Tensor y = at::empty(x.sizes(), cosines.options());
  std::vector<at::Tensor> out = y.chunk(2, -1);
  at::mul_out(out[0], halves[0], cosines).addcmul_(halves[1], sines, -sign);
  at::mul_out(out[1], halves[1], cosines).addcmul_(halves[0], sines, sign);
  return y.to(x.scalar_type());
}

}  // namespace

// In double, whatever the type of the model: angles of late positions are large.
Angles rotary_angles(const config::RotaryConfig& rotary,
                     int64_t head_width,
                     int64_t length,
                     const at::TensorOptions& options) {
  at::Tensor frequencies = at::empty({head_width / 2}, at::kDouble);
  for (int64_t pair = 0; pair < head_width / 2; ++pair)
    frequencies.data_ptr<double>()[pair] = scaled_frequency(rotary, pair, head_width);
  const at::Tensor angles = at::outer(at::arange(length, at::kDouble), frequencies);
  return {angles.cos().to(options), angles.sin().to(options)};
}

Angles angles_at(const Angles& angles, const at::Tensor& positions) {
  std::vector<int64_t> shape = positions.sizes().vec();
  shape.push_back(angles.cosines.size(1));
  const at::Tensor flat = positions.reshape({-1});
  return {angles.cosines.index_select(0, flat).view(shape),
          angles.sines.index_select(0, flat).view(shape)};
}

at::Tensor rotate(const at::Tensor& x, const Angles& angles) {
  const Recording recording({x});
  const at::Tensor cosines = angles.cosines.unsqueeze(-2);  // the same for all heads
  const at::Tensor sines = angles.sines.unsqueeze(-2);
  return recording.finish(turned(x, cosines, sines, 1),
                          [cosines, sines](const at::Tensor& gradient) {
                            return Gradients{turned(gradient, cosines, sines, -1)};
                          });
}

}  // namespace shoal::model
