#include "shoal/model/functions/attention_cuda.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace shoal::model {
namespace {

// Documents one after the other, without padding: tokens x heads x features, and where each begins.
struct Packed {
  at::Tensor begins;  // int32, one more than documents
  int64_t longest = 0;
};

Packed packed(const Documents& documents, const at::Tensor& q) {
  std::vector<int32_t> begins = {0};
  Packed result;
  const auto add = [&](int64_t length) {
    begins.push_back(begins.back() + static_cast<int32_t>(length));
    result.longest = std::max(result.longest, length);
  };
  for (const Documents::Span& span : documents.spans) add(span.length);
  if (documents.spans.empty()) {
    for (int64_t row = 0; row < q.size(0); ++row) add(q.size(2));
  }
  result.begins = at::tensor(begins, at::kInt).to(q.device(), /*non_blocking=*/true);
  return result;
}

at::Tensor by_token(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({-1, x.size(1), x.size(3)});
}

at::Tensor by_row(const at::Tensor& x, const at::Tensor& like) {
  return x.view({like.size(0), like.size(2), like.size(1), like.size(3)}).transpose(1, 2);
}

}  // namespace

Attended attend_on_cuda(const at::Tensor& q,
                        const at::Tensor& k,
                        const at::Tensor& v,
                        const Documents& documents,
                        bool causal) {
  const Packed queries = packed(documents, q);
  const Packed keys = packed(documents, k);
  auto [output, log_sum_exp, seed, unused, debug] = at::_flash_attention_forward(
      by_token(q), by_token(k), by_token(v), queries.begins, keys.begins, queries.longest,
      keys.longest, /*dropout_p=*/0.0, causal, /*return_debug_mask=*/false);
  return {by_row(output, q), log_sum_exp};
}

std::array<at::Tensor, 3> attend_backward_on_cuda(const at::Tensor& gradient,
                                                  const at::Tensor& q,
                                                  const at::Tensor& k,
                                                  const at::Tensor& v,
                                                  const Attended& attended,
                                                  const Documents& documents) {
  const Packed order = packed(documents, q);
  const at::Tensor no_seed = at::empty({0}, q.options().dtype(at::kLong));  // only dropout has one
  auto [dq, dk, dv] = at::_flash_attention_backward(
      by_token(gradient), by_token(q), by_token(k), by_token(v), by_token(attended.output),
      attended.log_sum_exp, order.begins, order.begins, order.longest, order.longest,
      /*dropout_p=*/0.0, /*is_causal=*/true, no_seed, no_seed);
  return {by_row(dq, q), by_row(dk, k), by_row(dv, v)};
}

}  // namespace shoal::model
