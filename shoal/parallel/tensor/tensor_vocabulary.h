// tensor_vocabulary.h -- embedding and head with the vocabulary split over ranks.
//
// A rank looks up its own tokens and returns zeros for others: the sum over ranks is the embedding.
// A rank computes the logits of its own tokens. The cross-entropy needs three numbers of a row from
// all ranks: the largest logit, the sum of exponentials and the target's logit.
#pragma once

#include <memory>

#include "shoal/model/layers.h"
#include "shoal/parallel/tensor/tensor_rows.h"

namespace shoal::parallel {

// `weight` has one part: the range of rows that share_of() returns for the vocabulary.
std::unique_ptr<model::Embedding> vocabulary_embedding(model::Weight weight,
                                                       const TensorRows& rows);

// Its loss has a gradient, its logits have none. `rows_at_once` is that of head_loss.h.
std::unique_ptr<model::Head> vocabulary_head(model::Weight weight,
                                             int64_t rows_at_once,
                                             const TensorRows& rows);

}  // namespace shoal::parallel
