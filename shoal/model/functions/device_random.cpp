#include "shoal/model/functions/device_random.h"

#include <array>

#include <ATen/ATen.h>

namespace shoal::model {
namespace {

constexpr int64_t kLanes = 4;
constexpr int64_t kLow = 0xFFFFFFFF;
constexpr int kRounds = 10;
constexpr std::array<int64_t, 2> kMultipliers = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<uint32_t, 2> kWeyl = {0x9E3779B9, 0xBB67AE85};

// The halves of a 64-bit product. It wraps around as int64, and its upper half is right all the
// same once the sign that the shift brings in is masked away.
struct Product {
  at::Tensor high;
  at::Tensor low;

  Product(const at::Tensor& x, int64_t multiplier) : low(x * at::Scalar(multiplier)) {
    high = low.bitwise_right_shift(at::Scalar(32)).bitwise_and_(at::Scalar(kLow));
    low.bitwise_and_(at::Scalar(kLow));
  }
};

}  // namespace

at::Tensor device_bits(const Random& random, uint64_t first, int64_t count, c10::Device device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const auto first_block = static_cast<int64_t>(first / kLanes);
  const auto skipped = static_cast<int64_t>(first % kLanes);
  const int64_t blocks = (skipped + count + kLanes - 1) / kLanes;
  const at::Tensor block = at::arange(first_block, first_block + blocks, options);
  std::array<at::Tensor, 4> counter = {
      block.bitwise_and(at::Scalar(kLow)), block.bitwise_right_shift(at::Scalar(32)),
      at::full({blocks}, int64_t{random.counter_high()[0]}, options),
      at::full({blocks}, int64_t{random.counter_high()[1]}, options)};
  std::array<uint32_t, 2> key = random.key();
  for (int round = 0; round < kRounds; ++round) {
    const Product first_product(counter[0], kMultipliers[0]);
    const Product second_product(counter[2], kMultipliers[1]);
    counter = {second_product.high.bitwise_xor_(counter[1]).bitwise_xor_(int64_t{key[0]}),
               second_product.low,
               first_product.high.bitwise_xor_(counter[3]).bitwise_xor_(int64_t{key[1]}),
               first_product.low};
    for (size_t i = 0; i < key.size(); ++i) key[i] += kWeyl[i];
  }
  return at::stack(counter, /*dim=*/1).view(-1).narrow(0, skipped, count);
}

}  // namespace shoal::model
