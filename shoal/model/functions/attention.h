// attention.h -- causal attention over documents: the seam between model and device.
//
// Queries are batch x heads x tokens x features; keys and values may have fewer heads, each shared by
// as many queries. Beside the result comes the log-sum-exp of each query's scores, with which pieces
// of a longer sequence can be merged.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/core/random.h"

namespace shoal::model {

// Which tokens see each other. A sample that begins inside a document has its rest as a document.
struct Documents {
  struct Span {
    int64_t row = 0;
    int64_t begin = 0;
    int64_t length = 0;
  };

  std::vector<Span> spans = {};  // in order, covering every row; none: each row is one document

  // Of lengths that add up to `tokens` row after row.
  static Documents of_lengths(const std::vector<uint32_t>& lengths, int64_t tokens);

  // Of every token in its document, rows x tokens; undefined when rows are documents.
  [[nodiscard]] at::Tensor positions(int64_t rows, int64_t tokens, c10::Device device) const;
};

struct Attended {
  at::Tensor output;       // like the queries, features of a token side by side in memory
  at::Tensor log_sum_exp;  // batch x heads x tokens
};

// The fused operators of each device, without autograd. `causal` as a choice serves a cache: the last
// token sees everything.
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

// The same with autograd.
at::Tensor attention(const at::Tensor& q,
                     const at::Tensor& k,
                     const at::Tensor& v,
                     const Documents& documents);

// Without fused operators: what the others are compared with, and the only one that can leave out
// scores, because no fused operator takes our own random numbers.
struct ScoreDropout {
  double rate = 0;
  const Random* random = nullptr;
  uint64_t first_row = 0;  // of the batch in the run
  int64_t first_head = 0;  // of these among all `heads`: a score is left out by its place in the
  int64_t heads = 0;       // whole model, wherever its head is
};
at::Tensor plain_attention(const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& v,
                           const Documents& documents,
                           const ScoreDropout& left_out = {});

}  // namespace shoal::model
