// layers.h -- the layers of a decoder, as interfaces. builder.h makes them; a layer that is split
// over ranks has the same interface.
//
// Between layers there is x, with the features of a token in its last dimension: batch x tokens x
// width on one rank. A builder may leave a rank only some of the rows, as rows x width; inside
// attention and MLP, between a Split::kColumns and a Split::kRows, a rank has all rows and some
// features.
//
// Layers keep references to their unit's weights and live as long as the decoder.
#pragma once

#include <ATen/core/Tensor.h>

#include "shoal/model/functions/rowwise.h"
#include "shoal/model/pass.h"

namespace shoal::model {

class Linear {
 public:
  virtual ~Linear() = default;
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) = 0;
  // Returns forward(before(x)); the layer decides whether before(x) is kept or recomputed.
  virtual at::Tensor forward(const RowWise& before, const at::Tensor& x, const Pass& pass) = 0;
};

// The rows (tokens of the batch, one after the other) that this rank has between layers.
class RowShare {
 public:
  virtual ~RowShare() = default;
  // Returns this rank's part of `each`, which has one element per token in the shape of
  // Pass::positions.
  [[nodiscard]] virtual at::Tensor of(const at::Tensor& each, const Pass& pass) const = 0;
};

class Embedding {
 public:
  virtual ~Embedding() = default;
  // Returns the rows at `indices`. With a matrix that ranks share (EmbeddingSpec::split) it takes
  // the indices of all rows and returns this rank's rows. `anchor` only connects the node to
  // autograd.
  virtual at::Tensor forward(const at::Tensor& indices, const at::Tensor& anchor) = 0;
  [[nodiscard]] virtual Weight weight() const = 0;
};

class Attention {
 public:
  virtual ~Attention() = default;
  // All tensors are batch x heads x tokens x features, with the heads of this rank.
  virtual at::Tensor forward(const at::Tensor& q,
                             const at::Tensor& k,
                             const at::Tensor& v,
                             const Pass& pass) = 0;
};

class Dropout {
 public:
  virtual ~Dropout() = default;
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) = 0;
};

class Head {
 public:
  virtual ~Head() = default;
  // Returns the logits of each sequence's tokens from Pass::first_logit on; all ranks get the same.
  virtual at::Tensor logits(const at::Tensor& x, const Pass& pass) = 0;
  virtual at::Tensor loss(const at::Tensor& x, const Targets& targets) = 0;
};

}  // namespace shoal::model
