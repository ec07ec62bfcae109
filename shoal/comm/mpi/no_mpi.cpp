#include "shoal/comm/mpi/mpi.h"
#include "shoal/core/error.h"

namespace shoal::comm {

MpiStatus mpi_status() {
  return {false, "not in this build: a package has none, and CMake found none here"};
}

std::unique_ptr<Transport> make_mpi_transport(const MpiOptions& /*options*/) {
  throw UsageError(
      "comm.backend is mpi, but this build of shoal has no MPI: choose gloo or auto, or build from "
      "source with the MPI of your site (-DSHOAL_MPI=ON)");
}

}  // namespace shoal::comm
