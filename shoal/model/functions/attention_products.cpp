#include "shoal/model/functions/attention_products.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace shoal::model {
namespace {

// Returns the queries of heads that share a key as more queries of one head.
at::Tensor by_key(const at::Tensor& x, const at::Tensor& k) {
  return x.reshape({k.size(0), k.size(1), -1, x.size(3)});
}

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
  const at::Tensor scores = scores_of(q, k, documents, causal);
  const at::Tensor log_sum_exp = scores.logsumexp(/*dim=*/{-1}, /*keepdim=*/true);
  // Relative to the largest score, not to the sum: where scores are large, that would round them.
  const at::Tensor output = at::matmul(scores.softmax(-1), v).view(q.sizes());
  return {output.transpose(1, 2).contiguous().transpose(1, 2),
          log_sum_exp.view({q.size(0), q.size(1), q.size(2)})};
}

std::array<at::Tensor, 3> attend_backward_by_products(const at::Tensor& gradient,
                                                      const at::Tensor& q,
                                                      const at::Tensor& k,
                                                      const at::Tensor& v,
                                                      const Attended& attended,
                                                      const Documents& documents) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor g = by_key(gradient, k);
  at::Tensor p = scores_of(q, k, documents, /*causal=*/true);
  p.sub_(attended.log_sum_exp.reshape({k.size(0), k.size(1), -1, 1})).exp_();
  const at::Tensor dv = at::matmul(p.transpose(2, 3), g);
  const at::Tensor along = (g * by_key(attended.output, k)).sum(-1, /*keepdim=*/true);
  const at::Tensor ds = at::matmul(g, v.transpose(2, 3)).sub_(along).mul_(p).mul_(scale);
  return {at::matmul(ds, k).view(q.sizes()), at::matmul(ds.transpose(2, 3), by_key(q, k)), dv};
}

}  // namespace shoal::model
