#include "shoal/parallel/fingerprint.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"

namespace shoal::parallel {
namespace {

constexpr int64_t kWord = 4;  // bytes
// The factors of a chunk's words are those of the next chunk's, times this odd number.
constexpr int64_t kNextChunk = 0x2545F4914F6CDD1D;

// Words that are multiplied at once: on a CPU they stay in its cache, and a GPU gets few launches.
int64_t words_at_once(c10::Device device) { return device.is_cpu() ? 1 << 14 : 1 << 21; }

// Returns odd numbers without a pattern.
at::Tensor odd_factors(int64_t count, c10::Device device) {
  at::Tensor factors =
      at::arange(1, count + 1, at::TensorOptions().dtype(at::kLong).device(device));
  factors.mul_(0x1E3779B97F4A7C15);
  factors.bitwise_xor_(factors.bitwise_right_shift(29)).mul_(0x3F58476D1CE4E5B9);
  return factors.bitwise_or_(1);
}

// Returns bytes as words; the last one is filled with zeros.
at::Tensor words_of(at::Tensor bytes) {
  if (const int64_t more = bytes.numel() % kWord; more != 0)
    bytes = at::constant_pad_nd(bytes, {0, kWord - more});
  else if (bytes.storage_offset() % kWord != 0)
    bytes = bytes.clone();
  return bytes.view(at::kInt);
}

}  // namespace

Fingerprints::Fingerprints(c10::Device device)
    : factors_(odd_factors(words_at_once(device), device)), products_(at::empty_like(factors_)) {}

at::Tensor Fingerprints::of_nothing() const { return at::zeros({}, factors_.options()); }

at::Tensor Fingerprints::of(const at::Tensor& tensor) const {
  at::Tensor all = of_nothing();
  append(tensor, all);
  return all;
}

void Fingerprints::append(const at::Tensor& tensor, at::Tensor& all) const {
  SHOAL_CHECK(tensor.is_contiguous(), "the bits of a tensor with gaps have no order");
  const at::NoGradGuard no_grad;
  const at::Tensor bytes = tensor.detach().view({-1}).view(at::kByte);
  const int64_t at_once = factors_.numel() * kWord;
  for (int64_t begin = 0; begin < bytes.numel(); begin += at_once) {
    const at::Tensor words =
        words_of(bytes.narrow(0, begin, std::min(at_once, bytes.numel() - begin)));
    const at::Tensor products = products_.narrow(0, 0, words.numel()).copy_(words);
    products.mul_(factors_.narrow(0, 0, words.numel()));
    all.mul_(kNextChunk).add_(products.sum());
  }
}

}  // namespace shoal::parallel
