// fingerprint.h -- the bits of tensors as one number, on any device.
//
//   const Fingerprints fingerprints(device);
//   const at::Tensor before = fingerprints.of(weights);
//   ...
//   fingerprints.of(weights).equal(before);      // false when a bit has flipped
//
// The bytes are read as 32-bit words x, and the number is the sum of w * x over all words, modulo
// 2^64, with an odd factor w for each place. When one word changes by d, the sum changes by w * d.
// An odd w has an inverse modulo 2^64, so w * d is 0 only if d is, and d is at most 2^32 - 1: every
// change within one word, and so every single flipped bit, is found. Changes d and e of two words
// cancel only if w * d = -v * e, for which factors of two places w, v would have to agree in their
// lower bits; they are without a pattern, and have twice as many bits as a word, so that not even
// the highest bits of all words can flip unnoticed, as they could with words of 64 bits.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace shoal::parallel {

class Fingerprints {
 public:
  explicit Fingerprints(c10::Device device);

  // Returns an int64 scalar on the device, which is not waited for. `tensor` is contiguous.
  [[nodiscard]] at::Tensor of(const at::Tensor& tensor) const;

  // For several tensors, in this order: begin with of_nothing(), and append each, in place.
  [[nodiscard]] at::Tensor of_nothing() const;
  void append(const at::Tensor& tensor, at::Tensor& all) const;

 private:
  at::Tensor factors_;   // of the words of a chunk
  at::Tensor products_;  // room for a chunk
};

}  // namespace shoal::parallel
