// nccl.h -- the backend for GPU collectives. Private to comm/. nccl.cpp is compiled by the `cuda`
// preset, no_nccl.cpp by the others.
//
// Run on fake GPUs (tests/softgpu), never on a real one: none was available. Everything that can be
// written for any device is written elsewhere, so that this file stays short.
#pragma once

#include <memory>
#include <string>

#include <c10/core/Device.h>

#include "shoal/cluster/store_client.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

class Transport;

struct NcclOptions {
  std::shared_ptr<cluster::StoreClient> store;
  int rank = 0;
  int world_size = 1;
  c10::Device device = c10::Device(c10::kCUDA);
  Duration deadline{};
};

// What this build and host can do: "2.30.7, 8 GPUs", or why it cannot be used.
struct NcclStatus {
  bool usable = false;
  std::string text;
};

NcclStatus nccl_status();

// Returns what the driver calls a GPU: "NVIDIA H100 80GB HBM3".
std::string gpu_name(c10::Device device);

// Throws UsageError when nccl_status() is not usable.
void require_nccl();

std::unique_ptr<Transport> make_nccl_transport(const NcclOptions& options);

}  // namespace shoal::comm
