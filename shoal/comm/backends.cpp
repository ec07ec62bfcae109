#include "shoal/comm/backends.h"

#include "shoal/comm/mpi/mpi.h"
#include "shoal/comm/nccl/nccl.h"

namespace shoal::comm {

using config::Backend;

std::vector<BackendStatus> backend_table() {
  const NcclStatus nccl = nccl_status();
  const MpiStatus mpi = mpi_status();
  return {{Backend::kGloo, true, "TCP between CPUs"},
          {Backend::kNccl, nccl.usable, nccl.text},
          {Backend::kMpi, mpi.usable, mpi.text},
          {Backend::kLocal, true, "one rank alone"},
          {Backend::kStrict, true, "gloo with the rules of nccl, to find faults"}};
}

Backend choose_backend(Backend wanted, const cluster::Membership& me, c10::DeviceType device) {
  if (wanted != Backend::kAuto) return wanted;
  if (me.world_size == 1) return Backend::kLocal;
  if (device != c10::kCPU) return Backend::kNccl;
  const bool our_mpi =
      me.launcher == "openmpi" && mpi_status().usable && mpi_status().text.starts_with("Open MPI");
  return our_mpi ? Backend::kMpi : Backend::kGloo;
}

}  // namespace shoal::comm
