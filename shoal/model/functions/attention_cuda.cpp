#include "shoal/model/functions/attention_cuda.h"

#include <optional>

#include <ATen/ATen.h>

#include "shoal/blueprint/activations.h"
#include "shoal/core/error.h"

namespace shoal::model {
namespace {

// The layout that the operators take: rows x tokens x heads x features, or the tokens of all
// documents one after the other.
struct Order {
  std::optional<at::Tensor> borders;
  int64_t longest_query;
  int64_t longest_key;

  Order(const at::Tensor& q, const at::Tensor& k, const Documents& documents)
      : longest_query(q.size(2)), longest_key(k.size(2)) {
    if (documents.spans.empty()) return;
    SHOAL_CHECK(documents.borders.defined(), "documents were not placed on {}", q.device().str());
    borders = documents.borders;
    longest_query = longest_key = documents.longest;
  }

  [[nodiscard]] at::Tensor by_token(const at::Tensor& x) const {
    const at::Tensor rows = x.transpose(1, 2);
    return borders ? rows.reshape({-1, x.size(1), x.size(3)}) : rows;
  }

  [[nodiscard]] at::Tensor by_head(const at::Tensor& x, const at::Tensor& like) const {
    const at::Tensor rows =
        borders ? x.view({like.size(0), like.size(2), like.size(1), like.size(3)}) : x;
    return rows.transpose(1, 2);
  }
};

}  // namespace

bool is_fused_on_cuda(const at::Tensor& q) {
  return blueprint::attention_is_fused_on_gpu(q.element_size(), q.size(3));
}

Attended attend_on_cuda(const at::Tensor& q,
                        const at::Tensor& k,
                        const at::Tensor& v,
                        const Documents& documents,
                        bool causal) {
  const Order order(q, k, documents);
  auto [output, log_sum_exp, seed, unused, debug] = at::_flash_attention_forward(
      order.by_token(q), order.by_token(k), order.by_token(v), order.borders, order.borders,
      order.longest_query, order.longest_key, /*dropout_p=*/0.0, causal,
      /*return_debug_mask=*/false);
  return {order.by_head(output, q), log_sum_exp};
}

std::array<at::Tensor, 3> attend_backward_on_cuda(const at::Tensor& gradient,
                                                  const at::Tensor& q,
                                                  const at::Tensor& k,
                                                  const at::Tensor& v,
                                                  const Attended& attended,
                                                  const Documents& documents) {
  const Order order(q, k, documents);
  const at::Tensor borders = order.borders.value_or(at::Tensor());
  const at::Tensor no_seed = at::empty({0}, q.options().dtype(at::kLong));  // only dropout has one
  auto [dq, dk, dv] = at::_flash_attention_backward(
      order.by_token(gradient), order.by_token(q), order.by_token(k), order.by_token(v),
      order.by_token(attended.output), attended.log_sum_exp, borders, borders, order.longest_query,
      order.longest_key, /*dropout_p=*/0.0, /*is_causal=*/true, no_seed, no_seed);
  return {order.by_head(dq, q), order.by_head(dk, k), order.by_head(dv, v)};
}

}  // namespace shoal::model
