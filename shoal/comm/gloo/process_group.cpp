#include "shoal/comm/gloo/process_group.h"

#define USE_C10D_GLOO 1
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace shoal::comm {

GlooDevice make_gloo_device(const std::string& address) {
  // Eager connections: with lazy ones a peer that dies before a group's first call can hang it for
  // ever (gloo #520).
  return c10d::ProcessGroupGloo::createDeviceForHostname(address, /*lazyInit=*/false);
}

c10::intrusive_ptr<c10d::Backend> make_gloo_process_group(
    const GlooDevice& device,
    const c10::intrusive_ptr<c10d::Store>& store,
    int rank,
    int size,
    Duration deadline) {
  auto options = c10d::ProcessGroupGloo::Options::create(deadline);
  options->devices.push_back(std::static_pointer_cast<::gloo::transport::Device>(device));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
}

}  // namespace shoal::comm
