// mpi.h -- the backend for the site's MPI. Private to comm/. Built when CMake finds MPI, else
// no_mpi.cpp stands in.
//
// One worker thread per communicator runs MPI's blocking calls in order: they measured twice as
// fast as the non-blocking ones. Point-to-point calls are non-blocking. Needs MPI_THREAD_MULTIPLE
// and a process that was started by an MPI launcher.
#pragma once

#include <climits>
#include <memory>
#include <string>

#include "shoal/core/activity.h"

namespace shoal::comm {

class Transport;

struct MpiOptions {
  int rank = 0;  // rank by the launcher's variables; MPI must agree
  int world_size = 1;
  ActivityBoard* board = nullptr;
  int max_count = INT_MAX;  // elements per MPI call; longer ones are split (smaller only in tests)
  int max_tags = INT_MAX;   // most tags to use (smaller only in tests)
};

struct MpiStatus {
  bool usable = false;
  std::string text;  // "Open MPI v4.1.4", or why not
};

MpiStatus mpi_status();

std::unique_ptr<Transport> make_mpi_transport(const MpiOptions& options);

}  // namespace shoal::comm
