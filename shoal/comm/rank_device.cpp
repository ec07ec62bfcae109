#include "shoal/comm/rank_device.h"

#include <ATen/Context.h>

#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using config::Backend;
using config::DeviceKind;

bool is_for_cpus(Backend backend) {
  return backend == Backend::kGloo || backend == Backend::kMpi || backend == Backend::kStrict;
}

c10::DeviceIndex own_gpu(const cluster::Membership& me, const cluster::Environment& environment) {
  const auto visible = static_cast<int>(at::getNumGPUs());
  const bool chosen = environment.has("CUDA_VISIBLE_DEVICES");
  if (visible == 1 && (chosen || me.local_size == 1)) return 0;
  if (me.local_rank >= visible)
    throw UsageError(
        format("rank {}: {} ranks run on this host, but {}: start one rank per GPU, or write "
               "`device: cpu`",
               me.rank, me.local_size,
               visible == 1 ? "it has 1 GPU" : format("only {} GPUs are visible", visible)));
  return static_cast<c10::DeviceIndex>(me.local_rank);
}

}  // namespace

c10::Device rank_device(DeviceKind kind,
                        Backend backend,
                        const cluster::Membership& me,
                        const cluster::Environment& environment) {
  if (kind == DeviceKind::kCpu && backend == Backend::kNccl)
    throw UsageError(
        "train.device is cpu, but comm.backend is nccl, which communicates between GPUs; choose "
        "gloo, mpi or auto");
  const bool has_gpu = at::hasCUDA();
  if (kind == DeviceKind::kAuto && (!has_gpu || is_for_cpus(backend))) kind = DeviceKind::kCpu;
  if (kind == DeviceKind::kCpu) return c10::Device(c10::kCPU);
  if (!has_gpu)
    throw UsageError("train.device is cuda, but this build or host has none; write `device: auto`");
  if (is_for_cpus(backend) && me.world_size > 1)
    throw UsageError(
        format("train.device is cuda, but comm.backend is {}, which communicates between CPUs; "
               "choose nccl or auto",
               config::write_value(backend)));
  return {c10::kCUDA, own_gpu(me, environment)};
}

}  // namespace shoal::comm
