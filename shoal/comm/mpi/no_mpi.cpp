#include "shoal/comm/mpi/mpi.h"
#include "shoal/core/error.h"

namespace shoal::comm {

MpiStatus mpi_status() { return {false, "not in this build (CMake found no MPI)"}; }

std::unique_ptr<Transport> make_mpi_transport(const MpiOptions& /*options*/) {
  throw UsageError(
      "comm.backend is mpi, but this build of shoal has no MPI: load or install one and build "
      "again "
      "with -DSHOAL_MPI=ON, or choose gloo or auto");
}

}  // namespace shoal::comm
