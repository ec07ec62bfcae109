#include "shoal/comm/nccl/nccl.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include <nccl.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "shoal/comm/job_store.h"
#include "shoal/comm/transport.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

// Settings of ProcessGroupNCCL; a user's own win.
constexpr std::pair<const char*, const char*> kSettings[] = {
    // Its watchdog would abort the process without naming the missing rank: StreamWatch does better.
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
    {"TORCH_NCCL_ENABLE_MONITORING", "0"},
    // Each rank would ask rank 0's store once a second whether another has written a trace.
    {"TORCH_NCCL_DUMP_ON_TIMEOUT", "0"},
    // Transfers are serialized, as it warns: programs are proven to meet in that order.
    {"TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "false"}};

class NcclTransport final : public Transport {
 public:
  explicit NcclTransport(const NcclOptions& options) : options_(options) {
    for (const auto& [name, value] : kSettings) ::setenv(name, value, /*overwrite=*/0);
    world_ = make(options.rank, options.world_size, "world/", nullptr, 0);
  }

  ~NcclTransport() override {
    if (std::uncaught_exceptions() > 0)
      world_
          .release();  // NOLINT(bugprone-unused-return-value): its threads may wait for a lost peer
    else
      world_->shutdown();
  }
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] bool on_streams() const override { return true; }

  // Split from the one communicator of the whole job: NCCL then shares its connections and skips
  // the bootstrap, which at thousands of ranks takes longer than everything else. All ranks call
  // this together, each with the color of its own group.
  c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int color) override {
    return make(group.rank, group.size(), format("{}/{}/{}/", round_++, group.name, color), world_,
                color);
  }

  void stay_out() override {
    ++round_;
    world_->performNocolorSplit(options_.device);
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> make(
      int rank,
      int size,
      const std::string& prefix,
      const c10::intrusive_ptr<c10d::ProcessGroupNCCL>& parent,
      int color) {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = beyond(options_.deadline);
    options->group_name = prefix;
    options->split_from = parent;
    if (parent) options->split_color = color;
    auto store = c10::make_intrusive<JobStore>(options_.store, "nccl/" + prefix, options_.deadline);
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
    group->setBoundDeviceId(options_.device);
    group->eagerConnectSingleDevice(options_.device);
    return group;
  }

  NcclOptions options_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> world_;
  int round_ = 0;
};

}  // namespace

NcclStatus nccl_status() {
  int version = 0;
  ncclGetVersion(&version);
  const std::string text = format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  const int gpus = c10::cuda::device_count();
  if (gpus == 0) return {false, format("{}, but no GPU was found", text)};
  return {true, format("{}, {} GPU{}", text, gpus, gpus == 1 ? "" : "s")};
}

std::string gpu_name(c10::Device device) {
  return at::cuda::getDeviceProperties(device.index())->name;
}

void require_nccl() {
  const NcclStatus status = nccl_status();
  if (!status.usable) {
    throw UsageError(format(
        "comm.backend is nccl, but this host cannot use it: NCCL {}; choose gloo, mpi or auto",
        status.text));
  }
}

std::unique_ptr<Transport> make_nccl_transport(const NcclOptions& options) {
  require_nccl();
  return std::make_unique<NcclTransport>(options);
}

}  // namespace shoal::comm
