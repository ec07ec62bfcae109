#include "shoal/model/functions/attention_products.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "shoal/model/functions/wide_type.h"

namespace shoal::model {
namespace {

// Returns the queries of heads that share a key as more queries of one head.
at::Tensor by_key(const at::Tensor& x, const at::Tensor& k) {
  return x.reshape({k.size(0), k.size(1), -1, x.size(3)});
}

// Scores in half precision would be rounded to a few bits, and a large one is no number in fp16.
at::Tensor wide(const at::Tensor& x) { return x.to(wide_type(x)); }

// Returns batch x key heads x (sharing heads * tokens) x tokens of the keys.
at::Tensor scores_of(const at::Tensor& q,
                     const at::Tensor& k,
                     const Documents& documents,
                     bool causal) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  at::Tensor scores = at::matmul(by_key(q, k), k.transpose(2, 3)).mul_(scale);
  if (causal)
    scores.view({q.size(0), q.size(1), q.size(2), k.size(2)})
        .masked_fill_(hidden_scores(q, documents), -std::numeric_limits<double>::infinity());
  return scores;
}

}  // namespace

at::Tensor hidden_scores(const at::Tensor& q, const Documents& documents) {
  const int64_t tokens = q.size(2);
  const at::Tensor later =
      at::ones({tokens, tokens}, q.options().dtype(at::kBool)).triu(/*diagonal=*/1);
  if (documents.spans.empty()) return later;
  at::Tensor hidden = at::ones({q.size(0), 1, tokens, tokens}, later.options());
  for (const Documents::Span& span : documents.spans) {
    hidden.select(0, span.row)
        .narrow(1, span.begin, span.length)
        .narrow(2, span.begin, span.length)
        .copy_(later.narrow(0, 0, span.length).narrow(1, 0, span.length));
  }
  return hidden;
}

Attended attend_by_products(const at::Tensor& q,
                            const at::Tensor& k,
                            const at::Tensor& v,
                            const Documents& documents,
                            bool causal) {
  const at::Tensor scores = scores_of(wide(q), wide(k), documents, causal);
  const at::Tensor log_sum_exp = scores.logsumexp(/*dim=*/{-1}, /*keepdim=*/true);
  // Relative to the largest score, not to the sum: where scores are large, that would round them.
  const at::Tensor output = at::matmul(scores.softmax(-1), wide(v)).view(q.sizes());
  return {output.transpose(1, 2).to(q.scalar_type()).contiguous().transpose(1, 2),
          log_sum_exp.view({q.size(0), q.size(1), q.size(2)})};
}

std::array<at::Tensor, 3> attend_backward_by_products(const at::Tensor& gradient,
                                                      const at::Tensor& q,
                                                      const at::Tensor& k,
                                                      const at::Tensor& v,
                                                      const Attended& attended,
                                                      const Documents& documents) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor wide_q = wide(q);
  const at::Tensor wide_k = wide(k);
  const at::Tensor g = by_key(wide(gradient), k);
  at::Tensor p = scores_of(wide_q, wide_k, documents, /*causal=*/true);
  p.sub_(attended.log_sum_exp.reshape({k.size(0), k.size(1), -1, 1})).exp_();
  const at::Tensor dv = at::matmul(p.transpose(2, 3), g);
  const at::Tensor along = (g * by_key(wide(attended.output), k)).sum(-1, /*keepdim=*/true);
  const at::Tensor ds = at::matmul(g, wide(v).transpose(2, 3)).sub_(along).mul_(p).mul_(scale);
  const at::Tensor dq = at::matmul(ds, wide_k).view(q.sizes());
  const at::Tensor dk = at::matmul(ds.transpose(2, 3), by_key(wide_q, k));
  return {dq.to(q.scalar_type()), dk.to(q.scalar_type()), dv.to(q.scalar_type())};
}

}  // namespace shoal::model
