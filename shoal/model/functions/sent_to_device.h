// sent_to_device.h -- small tensors of the host, copied to the device without waiting for it.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal::model {

// Returns the tensor itself on a CPU, otherwise a copy on the device. A GPU's goes through pinned
// memory, which libtorch's allocator keeps until the device has read it: the host does not wait, and
// may change `host` at once.
inline at::Tensor sent_to_device(const at::Tensor& host, c10::Device device) {
  if (!device.is_cuda()) return host.to(device);
  return host.pin_memory().to(device, host.scalar_type(), /*non_blocking=*/true);
}

}  // namespace shoal::model
