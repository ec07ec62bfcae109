// nccl.h -- the backend for GPU collectives. Private to comm/. nccl.cpp is compiled by the `cuda`
// preset, no_nccl.cpp by the others.
//
// Compiled, linked and loaded, but never run by us: no GPU was available. Everything that can be
// written for any device is written elsewhere, so that this file stays short.
#pragma once

#include <memory>
#include <string>

#include "shoal/cluster/store_client.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

class Transport;

struct NcclOptions {
  std::shared_ptr<cluster::StoreClient> store;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // number of the GPU on this host
  Duration deadline{};
};

// What this build and host can do: "2.30.7, 8 GPUs", or why it cannot be used.
struct NcclStatus {
  bool usable = false;
  std::string text;
};

NcclStatus nccl_status();

// Throws UsageError when nccl_status() is not usable.
std::unique_ptr<Transport> make_nccl_transport(const NcclOptions& options);

}  // namespace shoal::comm
