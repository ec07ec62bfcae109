// attention.h -- causal attention over documents, with the fused operators of each device.
//
// Queries are batch x heads x tokens x features; keys and values may have fewer heads, each shared
// by as many queries. The result comes with the log-sum-exp of each query's attention scores, with
// which pieces of a longer sequence can be merged.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/core/random.h"

namespace shoal::model {

// The attention mask by documents: tokens attend within their document only. If a sample begins
// inside a document, the rest of that document counts as one.
struct Documents {
  struct Span {
    int64_t row = 0;
    int64_t begin = 0;
    int64_t length = 0;
  };

  std::vector<Span> spans = {};  // in order, covering every row; empty: each row is one document

  // What the fused operators of a GPU take, made by place(): where documents begin and end in the
  // packed tokens of all rows, and the longest document. Undefined when each row is one.
  at::Tensor borders = {};
  int64_t longest = 0;

  // Sends the borders to the device, once for all layers.
  void place(c10::Device device);

  // Returns the documents of rows of `tokens` tokens; the lengths add up to `tokens` in each row.
  static Documents of_lengths(const std::vector<uint32_t>& lengths, int64_t tokens);

  // Returns each token's position in its document, rows x tokens; undefined when rows are
  // documents.
  [[nodiscard]] at::Tensor positions(int64_t rows, int64_t tokens, c10::Device device) const;
};

struct Attended {
  at::Tensor output;       // shape of the queries, the features of a token contiguous in memory
  at::Tensor log_sum_exp;  // batch x heads x tokens
};

// Fused operators, without autograd. Decoding one token with a cache passes causal = false: it
// attends to everything.
Attended attend(const at::Tensor& q,
                const at::Tensor& k,
                const at::Tensor& v,
                const Documents& documents,
                bool causal = true);
std::array<at::Tensor, 3> attend_backward(const at::Tensor& gradient,
                                          const at::Tensor& q,
                                          const at::Tensor& k,
                                          const at::Tensor& v,
                                          const Attended& attended,
                                          const Documents& documents);

// Causal attention with autograd.
at::Tensor attention(const at::Tensor& q,
                     const at::Tensor& k,
                     const at::Tensor& v,
                     const Documents& documents);

// Attention without fused operators: the reference for the others, and the only one with dropout on
// attention weights, because no fused operator takes our own random numbers.
struct ScoreDropout {
  double rate = 0;
  const Random* random = nullptr;
  uint64_t first_row = 0;  // number of the batch's first row in the run
  int64_t first_head = 0;  // first of these heads among all `heads`: the mask depends
  int64_t heads = 0;       // on the place in the whole model, not on the rank
};
at::Tensor plain_attention(const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& v,
                           const Documents& documents,
                           const ScoreDropout& left_out = {});

}  // namespace shoal::model
