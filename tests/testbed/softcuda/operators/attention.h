// Flash attention, which the CPU does not have. The signatures are ATen's.
#pragma once

#include <optional>
#include <tuple>

#include <ATen/ATen.h>

namespace softcuda {

using FiveTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// Tensors of rows x tokens x heads x features, or, where `begins_*` say where packed documents begin and where the last
// one ends, of tokens x heads x features.
FiveTensors flash_attention_forward(const at::Tensor& q,
                                    const at::Tensor& k,
                                    const at::Tensor& v,
                                    const std::optional<at::Tensor>& begins_q,
                                    const std::optional<at::Tensor>& begins_k,
                                    int64_t longest_q,
                                    int64_t longest_k,
                                    double dropout,
                                    bool causal,
                                    bool return_debug_mask,
                                    std::optional<double> scale,
                                    std::optional<int64_t> window_left,
                                    std::optional<int64_t> window_right,
                                    const std::optional<at::Tensor>& used_k,
                                    const std::optional<at::Tensor>& alibi_slopes,
                                    const std::optional<at::Tensor>& block_table,
                                    std::optional<int64_t> splits);

ThreeTensors flash_attention_backward(const at::Tensor& gradient,
                                      const at::Tensor& q,
                                      const at::Tensor& k,
                                      const at::Tensor& v,
                                      const at::Tensor& out,
                                      const at::Tensor& logsumexp,
                                      const at::Tensor& begins_q,
                                      const at::Tensor& begins_k,
                                      int64_t longest_q,
                                      int64_t longest_k,
                                      double dropout,
                                      bool causal,
                                      const at::Tensor& seed,
                                      const at::Tensor& unused,
                                      std::optional<double> scale,
                                      std::optional<int64_t> window_left,
                                      std::optional<int64_t> window_right);

}  // namespace softcuda
