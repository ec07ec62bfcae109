#include "shoal/model/functions/attention.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/model/functions/attention_cuda.h"
#include "shoal/model/functions/attention_products.h"
#include "shoal/model/functions/dropout.h"
#include "shoal/model/functions/recording.h"
#include "shoal/model/functions/sent_to_device.h"

namespace shoal::model {
namespace {

// One document of a tensor that is batch x heads x tokens x features.
at::Tensor part(const at::Tensor& x, const Documents::Span& span) {
  return x.narrow(0, span.row, 1).narrow(2, span.begin, span.length);
}

// Batch x heads x tokens x features, with the heads of a token side by side in memory.
at::Tensor empty_by_token(const at::Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

Attended attend_on_cpu(const at::Tensor& q,
                       const at::Tensor& k,
                       const at::Tensor& v,
                       const Documents& documents,
                       bool causal) {
  if (documents.spans.empty()) {
    auto [output, log_sum_exp] =
        at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, /*dropout_p=*/0.0, causal);
    return {output, log_sum_exp};
  }
  Attended whole{.output = empty_by_token(q)};
  for (const Documents::Span& span : documents.spans) {
    auto [output, log_sum_exp] = at::_scaled_dot_product_flash_attention_for_cpu(
        part(q, span), part(k, span), part(v, span), /*dropout_p=*/0.0, causal);
    if (!whole.log_sum_exp.defined())
      whole.log_sum_exp = at::empty({q.size(0), q.size(1), q.size(2)}, log_sum_exp.options());
    part(whole.output, span).copy_(output);
    whole.log_sum_exp.narrow(0, span.row, 1).narrow(2, span.begin, span.length).copy_(log_sum_exp);
  }
  return whole;
}

std::array<at::Tensor, 3> attend_backward_on_cpu(const at::Tensor& gradient,
                                                 const at::Tensor& q,
                                                 const at::Tensor& k,
                                                 const at::Tensor& v,
                                                 const Attended& attended,
                                                 const Documents& documents) {
  if (documents.spans.empty()) {
    auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        gradient, q, k, v, attended.output, attended.log_sum_exp, /*dropout_p=*/0.0,
        /*is_causal=*/true);
    return {dq, dk, dv};
  }
  std::array<at::Tensor, 3> whole = {empty_by_token(q), empty_by_token(k), empty_by_token(v)};
  for (const Documents::Span& span : documents.spans) {
    auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        part(gradient, span), part(q, span), part(k, span), part(v, span),
        part(attended.output, span),
        attended.log_sum_exp.narrow(0, span.row, 1).narrow(2, span.begin, span.length),
        /*dropout_p=*/0.0, /*is_causal=*/true);
    part(whole[0], span).copy_(dq);
    part(whole[1], span).copy_(dk);
    part(whole[2], span).copy_(dv);
  }
  return whole;
}

// Rows of the batch lie `heads` apart, of which these may be some.
at::Tensor kept_scores(const at::Tensor& weights, const ScoreDropout& left_out) {
  const auto of_head = static_cast<uint64_t>(weights.size(2) * weights.size(3));
  std::vector<at::Tensor> rows;
  for (int64_t row = 0; row < weights.size(0); ++row) {
    const uint64_t head =
        (left_out.first_row + static_cast<uint64_t>(row)) * static_cast<uint64_t>(left_out.heads) +
        static_cast<uint64_t>(left_out.first_head);
    rows.push_back(kept_elements(weights.sizes().slice(1), left_out.rate, *left_out.random,
                                 head * of_head, weights.device()));
  }
  return at::stack(rows);
}

}  // namespace

Documents Documents::of_lengths(const std::vector<uint32_t>& lengths, int64_t tokens) {
  Documents documents;
  Span next;
  bool rows_are_documents = true;
  for (const uint32_t length : lengths) {
    next.length = length;
    documents.spans.push_back(next);
    rows_are_documents = rows_are_documents && next.length == tokens;
    next.begin += length;
    SHOAL_CHECK(next.begin <= tokens, "a document crosses a row of {} tokens", tokens);
    if (next.begin == tokens) next = {.row = next.row + 1};
  }
  if (rows_are_documents) documents.spans.clear();
  return documents;
}

at::Tensor Documents::positions(int64_t rows, int64_t tokens, c10::Device device) const {
  if (spans.empty()) return {};
  at::Tensor positions = at::empty({rows, tokens}, at::kLong);
  int64_t* const out = positions.data_ptr<int64_t>();
  for (const Span& span : spans) {
    for (int64_t i = 0; i < span.length; ++i) out[span.row * tokens + span.begin + i] = i;
  }
  return sent_to_device(positions, device);
}

void Documents::place(c10::Device device) {
  if (spans.empty() || !device.is_cuda()) return;
  std::vector<int32_t> ends = {0};
  for (const Span& span : spans) {
    ends.push_back(ends.back() + static_cast<int32_t>(span.length));
    longest = std::max(longest, span.length);
  }
  borders = sent_to_device(at::tensor(ends, at::kInt), device);
}

Attended attend(const at::Tensor& q,
                const at::Tensor& k,
                const at::Tensor& v,
                const Documents& documents,
                bool causal) {
  if (!q.is_cuda()) return attend_on_cpu(q, k, v, documents, causal);
  return is_fused_on_cuda(q) ? attend_on_cuda(q, k, v, documents, causal)
                             : attend_by_products(q, k, v, documents, causal);
}

std::array<at::Tensor, 3> attend_backward(const at::Tensor& gradient,
                                          const at::Tensor& q,
                                          const at::Tensor& k,
                                          const at::Tensor& v,
                                          const Attended& attended,
                                          const Documents& documents) {
  if (!q.is_cuda()) return attend_backward_on_cpu(gradient, q, k, v, attended, documents);
  return is_fused_on_cuda(q) ? attend_backward_on_cuda(gradient, q, k, v, attended, documents)
                             : attend_backward_by_products(gradient, q, k, v, attended, documents);
}

at::Tensor attention(const at::Tensor& q,
                     const at::Tensor& k,
                     const at::Tensor& v,
                     const Documents& documents) {
  const Recording recording({q, k, v});
  Attended attended = attend(q, k, v, documents);
  at::Tensor output = attended.output;
  attended.output = output.detach();
  return recording.finish(output, [q = q.detach(), k = k.detach(), v = v.detach(), attended,
                                   documents](const at::Tensor& gradient) {
    auto [dq, dk, dv] = attend_backward(gradient, q, k, v, attended, documents);
    return Gradients{dq, dk, dv};
  });
}

at::Tensor plain_attention(const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& v,
                           const Documents& documents,
                           const ScoreDropout& left_out) {
  const int64_t shared = q.size(1) / k.size(1);
  const auto of_all_heads = [shared](const at::Tensor& each) {
    return shared == 1 ? each : each.repeat_interleave(shared, 1);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  at::Tensor weights =
      at::matmul(q, of_all_heads(k).transpose(2, 3))
          .mul_(scale)
          .masked_fill(hidden_scores(q, documents), -std::numeric_limits<double>::infinity())
          .softmax(-1);
  if (left_out.rate > 0)
    weights = keep(weights, kept_scores(weights, left_out), 1 / (1 - left_out.rate));
  return at::matmul(weights, of_all_heads(v));
}

}  // namespace shoal::model
