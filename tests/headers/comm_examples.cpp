#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/call_end.h"
#include "shoal/comm/control.h"
#include "shoal/comm/group.h"
#include "shoal/comm/mesh_groups.h"
#include "shoal/comm/moment.h"
#include "shoal/comm/ordered_worker.h"
#include "shoal/comm/strict/lent_tensors.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/feed/feed.h"
#include "shoal/plan/sharding.h"

namespace shoal::comm {
namespace {

// shoal/comm/call_end.h
void call_end(GroupState& state,
              const Call& call,
              const std::vector<c10::intrusive_ptr<c10d::Work>>& works) {
  CallEnd end(state, call, works);
  end.take();
}

// shoal/comm/moment.h
void moment(c10::Device device) {
  DeviceClock clock(device);
  const Moment begin = Moment::now(device);
  begin.read(clock);
}

// shoal/comm/control.h
void control(Control& control, bool interrupted, const at::Tensor& figures) {
  const bool stop = control.any(interrupted, "stop requested");
  Control::Later later = control.all_reduce_later(figures, Reduce::kMax, "figures of the step");
  later.wait();
}

// shoal/comm/group.h
void group(const MeshGroups& groups, const at::Tensor& gradients) {
  Group dp = groups.along(plan::Axis::kDpShard);
  Pending sum = dp.all_reduce(gradients, Reduce::kAvg, "gradients of block 7");
  sum.wait();
}

// shoal/comm/mesh_groups.h
void mesh_groups(World& world, const plan::Mesh& mesh, const at::Tensor& sum) {
  MeshGroups groups(world, mesh, {plan::Axis::kTp, plan::kDataAxes});
  groups.along(plan::Axis::kTp).all_reduce(sum, Reduce::kSum, "a sum").wait();
}

// shoal/comm/ordered_worker.h
void ordered_worker(OrderedWorker& worker,
                    const at::Tensor& tensor,
                    std::chrono::milliseconds timeout,
                    void (*MPI_Allreduce)(void*)) {
  auto work = worker.run({tensor}, [=] { MPI_Allreduce(tensor.data_ptr()); });
  work->wait(timeout);
}

// shoal/comm/strict/lent_tensors.h
void lent_tensors(const std::vector<at::Tensor>& inputs,
                  const std::vector<at::Tensor>& outputs,
                  void (*run)(std::vector<at::Tensor>&, std::vector<at::Tensor>&)) {
  LentTensors lent(inputs, outputs);
  run(lent.inputs(), lent.outputs());
  lent.give_back();
}

// shoal/comm/world.h
void world(const cluster::Membership& me,
           const cluster::Environment& environment,
           const config::RunConfig& config,
           const std::vector<int>& ranks) {
  const auto world = World::join(me, environment, {.backend = config.comm.backend});
  Group all = world->group("all", ranks);
  world->control().barrier("ready");
}

}  // namespace
}  // namespace shoal::comm

namespace shoal::feed {
namespace {

// shoal/feed/feed.h
void feed(const std::shared_ptr<const data::SampleStream>& stream,
          const data::LoaderOptions& loading,
          c10::Device device,
          const comm::Group& tensor_parallel) {
  Feed feed(stream, loading, {.device = device, .peers = tensor_parallel});
  const TokenBatch batch = feed.next();
}

}  // namespace
}  // namespace shoal::feed
