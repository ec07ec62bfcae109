#include "shoal/comm/nccl/nccl.h"
#include "shoal/comm/transport.h"
#include "shoal/core/error.h"

namespace shoal::comm {

NcclStatus nccl_status() { return {false, "not in this build (cmake --preset cuda)"}; }

std::string gpu_name(c10::Device /*device*/) { return ""; }

void require_nccl() {
  throw UsageError(
      "comm.backend is nccl, but this build of shoal has no NCCL: build with `cmake --preset "
      "cuda`, "
      "or choose gloo, mpi or auto");
}

std::unique_ptr<Transport> make_nccl_transport(const NcclOptions& /*options*/) {
  require_nccl();
  return nullptr;
}

}  // namespace shoal::comm
