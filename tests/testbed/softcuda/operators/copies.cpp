#include "copies.h"

#include <ATen/native/Copy.h>
#include <ATen/ops/copy_native.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "launches.h"
#include "softcuda.h"
#include "tensors.h"

namespace softcuda {
namespace {

// What libtorch's copy does with cudaMemcpyAsync, so that its own code can run.
bool is_memcpy(const at::Tensor& to, const at::Tensor& from) {
  if (to.scalar_type() != from.scalar_type() || to.sizes() != from.sizes()) return false;
  if (to.is_conj() != from.is_conj() || to.is_neg() != from.is_neg()) return false;
  const bool same_layout = to.strides() == from.strides() && to.is_non_overlapping_and_dense();
  return same_layout || (to.is_contiguous() && from.is_contiguous());
}

// As libtorch does without peer access: pack, move, unpack.
at::Tensor& copy_between_devices(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const at::Tensor packed = from.to(to.scalar_type()).expand_as(to).contiguous();
  at::Tensor landed = at::empty_like(packed, packed.options().device(to.device()));
  at::native::copy_(landed, packed, non_blocking);
  return to.copy_(landed);
}

// Which lists the CUDA kernel copies at once (ATen/native/cuda/ForeachBinaryOpList.cu).
bool are_copied_at_once(at::TensorList to, at::TensorList from) {
  for (size_t i = 0; i < to.size(); ++i) {
    if (!to[i].is_cuda() || to[i].device() != to[0].device() || from[i].device() != to[0].device())
      return false;
    if (to[i].scalar_type() != to[0].scalar_type() ||
        from[i].scalar_type() != from[0].scalar_type())
      return false;
    if (to[i].sizes() != from[i].sizes() || to[i].strides() != from[i].strides()) return false;
  }
  return !to.empty();
}

}  // namespace

at::Tensor& copy_(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  if (!to.is_cuda() || !from.is_cuda() || is_memcpy(to, from)) {
    return at::native::copy_(to, from, non_blocking);
  }
  if (to.device() != from.device()) return copy_between_devices(to, from, non_blocking);
  if (to.numel() == 0) return to;
  const c10::cuda::CUDAGuard guard(to.device());
  softcudaCountLaunches("aten::copy_", 1);
  launch(c10::cuda::getCurrentCUDAStream(), "aten::copy_",
         {range_of(from, false, "src"), range_of(to, true, "self")},
         [to = Seen(to), from = Seen(from)] { to.cpu().copy_(from.cpu()); });
  return to;
}

void foreach_copy_(at::TensorList to, at::TensorList from, bool non_blocking) {
  if (!are_copied_at_once(to, from)) {
    for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i], non_blocking);
    return;
  }
  const c10::cuda::CUDAGuard guard(to[0].device());
  std::vector<SoftcudaRange> ranges;
  std::vector<std::pair<Seen, Seen>> copies;
  for (size_t i = 0; i < to.size(); ++i) {
    ranges.push_back(range_of(from[i], false, "src"));
    ranges.push_back(range_of(to[i], true, "self"));
    copies.emplace_back(Seen(to[i]), Seen(from[i]));
  }
  softcudaCountLaunches("aten::_foreach_copy_", multi_tensor_launches(to.vec(), 2));
  launch(c10::cuda::getCurrentCUDAStream(), "aten::_foreach_copy_", ranges, [copies] {
    for (const auto& [into, out] : copies) into.cpu().copy_(out.cpu());
  });
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const c10::cuda::CUDAGuard guard(self.device());
  const auto stream = c10::cuda::getCurrentCUDAStream();
  softcudaCountHostRead();
  at::Tensor host = at::empty({}, self.options().device(at::kCPU).pinned_memory(true));
  C10_CUDA_CHECK(cudaMemcpyAsync(host.data_ptr(), self.const_data_ptr(), self.element_size(),
                                 cudaMemcpyDeviceToHost, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  return host.item();
}

}  // namespace softcuda
