// layers.h -- what a decoder is made of, as the decoder sees it. builder.h makes them; a layer that
// spreads its work over ranks looks the same from here.
//
// Between layers stands x, with the features of a token in its last dimension: batch x tokens x width
// on one rank. A builder may leave a rank only some of the rows, as rows x width; inside attention and
// MLP, that is between a Split::kColumns and a Split::kRows, a rank has all rows and some features.
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
  // forward(before(x)); whether before(x) is kept or computed again is the layer's choice.
  virtual at::Tensor forward(const RowWise& before, const at::Tensor& x, const Pass& pass) = 0;
};

// Which rows (tokens of the batch, one after the other) this rank has between layers.
class RowShare {
 public:
  virtual ~RowShare() = default;
  // Of what there is for every token, in the shape of Pass::positions: that of this rank's rows.
  [[nodiscard]] virtual at::Tensor of(const at::Tensor& each, const Pass& pass) const = 0;
};

class Embedding {
 public:
  virtual ~Embedding() = default;
  // Of a matrix that ranks share (EmbeddingSpec::split): takes the indices of all rows, and gives this
  // rank's. `anchor` only brings the backward pass here.
  virtual at::Tensor forward(const at::Tensor& indices, const at::Tensor& anchor) = 0;
  [[nodiscard]] virtual Weight weight() const = 0;
};

class Attention {
 public:
  virtual ~Attention() = default;
  // batch x heads x tokens x features, heads of this rank
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
  // Of all rows, or the last token's of each sequence, as the pass asks: the same on every rank.
  virtual at::Tensor scores(const at::Tensor& x, const Pass& pass) = 0;
  virtual at::Tensor loss(const at::Tensor& x, const Targets& targets) = 0;
};

}  // namespace shoal::model
