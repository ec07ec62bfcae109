#include "shoal/parallel/fingerprint.h"

#include <random>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/support/flip_bit.h"

namespace shoal::parallel {
namespace {

using tests::flip_bit;

const c10::Device kCpu(c10::kCPU);

int64_t number_of(const at::Tensor& tensor) {
  return Fingerprints(kCpu).of(tensor).item<int64_t>();
}

// Lengths around a chunk of 16,384 words, and around a word; views that begin between words.
TEST(Fingerprint, FindsEveryFlippedBit) {
  std::mt19937_64 random(5);
  at::manual_seed(3);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const int64_t count : {1, 2, 3, 31, 16'383, 16'384, 16'385, 50'001}) {
      for (const int64_t first : {0, 1, 3}) {
        const at::Tensor bits = at::randn({first + count}).to(type).narrow(0, first, count);
        const int64_t before = number_of(bits);
        const uint64_t bit = random() % (bits.nbytes() * 8);
        flip_bit(bits, bit);
        EXPECT_NE(number_of(bits), before) << type << " " << count << " bit " << bit;
        flip_bit(bits, bit);
        EXPECT_EQ(number_of(bits), before);
      }
    }
  }
}

TEST(Fingerprint, FindsEachBitOfASmallTensor) {
  const at::Tensor bits = at::randn({33});
  const int64_t before = number_of(bits);
  for (uint64_t bit = 0; bit < 33 * 32; ++bit) {
    flip_bit(bits, bit);
    EXPECT_NE(number_of(bits), before) << bit;
    flip_bit(bits, bit);
  }
}

// Sums of plain words would not notice these.
TEST(Fingerprint, FindsChangesThatCancelInASum) {
  const at::Tensor bits = at::randn({40'000});
  const int64_t before = number_of(bits);
  EXPECT_NE(number_of(-bits), before);  // the highest bit of all words
  at::Tensor swapped = bits.clone();
  swapped[7] = bits[20'000];
  swapped[20'000] = bits[7];
  EXPECT_NE(number_of(swapped), before);
  EXPECT_NE(number_of(bits.roll({16'384}, {0})), before);  // by a chunk
}

TEST(Fingerprint, OfSeveralTensorsDependsOnTheirOrder) {
  const Fingerprints fingerprints(kCpu);
  const at::Tensor a = at::randn({5});
  const at::Tensor b = at::randn({5});
  at::Tensor ab = fingerprints.of_nothing();
  at::Tensor ba = fingerprints.of_nothing();
  fingerprints.append(a, ab);
  fingerprints.append(b, ab);
  fingerprints.append(b, ba);
  fingerprints.append(a, ba);
  EXPECT_NE(ab.item<int64_t>(), ba.item<int64_t>());
}

}  // namespace
}  // namespace shoal::parallel
