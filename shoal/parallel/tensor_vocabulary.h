// tensor_vocabulary.h -- the embedding's and the head's matrix, of which each rank has some rows.
//
// A rank looks up the tokens it has and gives zeros for others: the sum over ranks is the embedding. Of
// the scores a rank computes those of its own tokens. The cross-entropy needs three numbers of a row
// from all ranks: the largest score, the sum of exponentials and the target's score.
#pragma once

#include <memory>

#include "shoal/model/layers.h"
#include "shoal/parallel/tensor_rows.h"

namespace shoal::parallel {

// `weight` has one part: a range of rows, the same as share_of() the vocabulary gives.
std::unique_ptr<model::Embedding> vocabulary_embedding(model::Weight weight,
                                                       const TensorRows& rows);

// Its scores have no gradient, its loss has. `rows_at_once`: as in head_loss.h.
std::unique_ptr<model::Head> vocabulary_head(model::Weight weight,
                                             int64_t rows_at_once,
                                             const TensorRows& rows);

}  // namespace shoal::parallel
