// attention_products.h -- attention by plain matrix products, on any device and in any type: where
// no fused operator takes them. Scores of all queries and keys are in memory, of half precision in
// fp32, but only during a pass; from the forward to the backward pass their log-sum-exp is kept, as
// by the fused operators.
#pragma once

#include "shoal/model/functions/attention.h"

namespace shoal::model {

Attended attend_by_products(const at::Tensor& q,
                            const at::Tensor& k,
                            const at::Tensor& v,
                            const Documents& documents,
                            bool causal);
std::array<at::Tensor, 3> attend_backward_by_products(const at::Tensor& gradient,
                                                      const at::Tensor& q,
                                                      const at::Tensor& k,
                                                      const at::Tensor& v,
                                                      const Attended& attended,
                                                      const Documents& documents);

// Returns a mask of scores, true where a query may not look: later tokens, and other documents.
at::Tensor hidden_scores(const at::Tensor& q, const Documents& documents);

}  // namespace shoal::model
