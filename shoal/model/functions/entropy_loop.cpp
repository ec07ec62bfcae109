#include "shoal/model/functions/entropy_loop.h"

#include <algorithm>
#include <limits>

namespace shoal::model {
namespace {

// So many maxima and sums run beside each other, until the end of the row.
constexpr size_t kLanes = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A logit's part of the sum; e^-87 is nothing beside the largest one's, which is 1.
[[gnu::always_inline]] inline float part_of(Bf16 logit, float largest) {
  return exponential(at_least(widened(logit) - largest, -87.0F));
}

struct Row {
  float largest;
  float sum;  // of e^(logit - largest)
};

// Calls `take(lane, logit)` for each logit, and for -inf behind the last.
template <class Take>
[[gnu::always_inline]] inline void for_each(const Bf16* logits, size_t classes, Take take) {
  size_t at = 0;
  for (; classes - at >= kLanes; at += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, logits[at + lane]);
  }
  if (at == classes) return;
  Bf16 last[kLanes];
  std::fill_n(last, kLanes, Bf16{0xFF80});
  std::copy_n(logits + at, classes - at, last);
  for (size_t lane = 0; lane < kLanes; ++lane) take(lane, last[lane]);
}

[[gnu::always_inline]] inline Row sum(const Bf16* logits, size_t classes) {
  float largest[kLanes];
  std::fill_n(largest, kLanes, -kInfinity);
  for_each(logits, classes, [&](size_t lane, Bf16 logit) {
    largest[lane] = at_least(widened(logit), largest[lane]);
  });
  Row row{.largest = *std::max_element(largest, largest + kLanes), .sum = 0};
  float sums[kLanes] = {};
  for_each(logits, classes,
           [&](size_t lane, Bf16 logit) { sums[lane] += part_of(logit, row.largest); });
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  row.sum = sums[0];
  return row;
}

// Whole blocks alone, as in for_each(): where vectors begin depends on the place in the row.
[[gnu::always_inline]] inline void scale(Bf16* logits, size_t classes, Row row, float factor) {
  const float each = factor / row.sum;
  const auto block = [&](Bf16* at) {
    for (size_t i = 0; i < kLanes; ++i) narrow(part_of(at[i], row.largest) * each, at[i]);
  };
  size_t at = 0;
  for (; classes - at >= kLanes; at += kLanes) block(logits + at);
  Bf16 last[kLanes] = {};
  std::copy_n(logits + at, classes - at, last);
  block(last);
  std::copy_n(last, classes - at, logits + at);
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")]] Row
sum_by_avx512(const Bf16* logits, size_t classes) {
  return sum(logits, classes);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")]] void
scale_by_avx512(Bf16* logits, size_t classes, Row row, float factor) {
  scale(logits, classes, row, factor);
}

[[gnu::target("avx2,fma")]] Row sum_by_avx2(const Bf16* logits, size_t classes) {
  return sum(logits, classes);
}

[[gnu::target("avx2,fma")]] void scale_by_avx2(Bf16* logits,
                                               size_t classes,
                                               Row row,
                                               float factor) {
  scale(logits, classes, row, factor);
}
#endif

Row widest_sum(const Bf16* logits, size_t classes) {
#if defined(__x86_64__)
  if (has_avx512()) return sum_by_avx512(logits, classes);
  if (has_avx2()) return sum_by_avx2(logits, classes);
#endif
  return sum(logits, classes);
}

void widest_scale(Bf16* logits, size_t classes, Row row, float factor) {
#if defined(__x86_64__)
  if (has_avx512()) return scale_by_avx512(logits, classes, row, factor);
  if (has_avx2()) return scale_by_avx2(logits, classes, row, factor);
#endif
  scale(logits, classes, row, factor);
}

float loss_of(const Row& row, float chosen) { return std::log(row.sum) - (chosen - row.largest); }

}  // namespace

float cross_entropy_of_row(const Bf16* logits, size_t classes, size_t target) {
  return loss_of(widest_sum(logits, classes), widened(logits[target]));
}

float cross_entropy_to_gradient(Bf16* logits, size_t classes, size_t target, float factor) {
  const Row row = widest_sum(logits, classes);
  const float chosen = widened(logits[target]);
  widest_scale(logits, classes, row, factor);
  narrow((std::exp(chosen - row.largest) / row.sum - 1) * factor, logits[target]);
  return loss_of(row, chosen);
}

}  // namespace shoal::model
