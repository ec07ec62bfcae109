// CUDA tensors as tasks see them: addresses and shapes without a reference, so that memory which is given back too
// early really is reused, as on a GPU.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <cuda_runtime_api.h>

#include <ATen/ATen.h>

#include "softcuda.h"

namespace softcuda {

// A CUDA tensor without its reference.
class Seen {
 public:
  explicit Seen(const at::Tensor& tensor);
  // A CPU tensor of the same memory. For tasks only.
  at::Tensor cpu() const;

 private:
  void* data_;
  std::vector<int64_t> sizes_, strides_;
  at::ScalarType dtype_;
};

// The bytes that a task reads or writes through a tensor. A strided view counts as everything between its first and its
// last element. `operand` lives until the task has run.
SoftcudaRange range_of(const at::Tensor& tensor, bool writes, const char* operand);

// Runs `run` on the stream's thread, without autograd. An exception of it is a failure of the device.
void launch(cudaStream_t stream,
            const char* name,
            const std::vector<SoftcudaRange>& ranges,
            std::function<void()> run);

// The same; returns when it has run, without the stream's clock knowing, so that a missing wait of the program is still
// found. An exception of it comes out here.
void launch_and_wait(cudaStream_t stream,
                     const char* name,
                     const std::vector<SoftcudaRange>& ranges,
                     const std::function<void()>& run);

// Below autograd and autocast, where kernels run.
class BelowAutograd {
  c10::impl::ExcludeDispatchKeyGuard keys_{c10::autograd_dispatch_keyset |
                                           c10::autocast_dispatch_keyset |
                                           c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView)};
};

}  // namespace softcuda
