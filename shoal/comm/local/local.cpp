#include "shoal/comm/local/local.h"

#include "shoal/comm/ordered_worker.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using Work = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

Work copied(const at::Tensor& into, const at::Tensor& from) {
  // In place: already there.
  if (into.data_ptr() != from.data_ptr()) into.view(-1).copy_(from.view(-1));
  return finished_work();
}

Work copied(const Tensors& into, const Tensors& from) {
  for (size_t i = 0; i < into.size(); ++i) copied(into[i], from[i]);
  return finished_work();
}

class LocalBackend final : public c10d::Backend {
 public:
  LocalBackend() : Backend(/*rank=*/0, /*size=*/1) {}

  const std::string getBackendName() const override { return "local"; }

  Work broadcast(Tensors& /*tensors*/, const c10d::BroadcastOptions& /*options*/) override {
    return finished_work();
  }
  Work allreduce(Tensors& /*tensors*/, const c10d::AllreduceOptions& /*options*/) override {
    return finished_work();
  }
  Work allreduce_coalesced(Tensors& /*tensors*/,
                           const c10d::AllreduceCoalescedOptions& /*options*/) override {
    return finished_work();
  }
  Work reduce(Tensors& /*tensors*/, const c10d::ReduceOptions& /*options*/) override {
    return finished_work();
  }
  Work barrier(const c10d::BarrierOptions& /*options*/) override { return finished_work(); }

  Work all_gather_single(at::Tensor& out,
                         at::Tensor& in,
                         const c10d::AllgatherOptions& /*options*/) override {
    return copied(out, in);
  }
  Work all_gather_single_coalesced(Tensors& outs,
                                   Tensors& ins,
                                   const c10d::AllgatherOptions& /*options*/) override {
    return copied(outs, ins);
  }
  Work reduce_scatter_single(at::Tensor& out,
                             at::Tensor& in,
                             const c10d::ReduceScatterOptions& /*options*/) override {
    return copied(out, in);
  }
  Work reduce_scatter_single_coalesced(Tensors& outs,
                                       Tensors& ins,
                                       const c10d::ReduceScatterOptions& /*options*/) override {
    return copied(outs, ins);
  }
  Work gather(std::vector<Tensors>& outs,
              Tensors& ins,
              const c10d::GatherOptions& /*options*/) override {
    return copied(outs.at(0), ins);
  }
  Work scatter(Tensors& outs,
               std::vector<Tensors>& ins,
               const c10d::ScatterOptions& /*options*/) override {
    return copied(outs, ins.at(0));
  }
  Work all_to_all_single(at::Tensor& out,
                         at::Tensor& in,
                         std::vector<int64_t>& /*out_counts*/,
                         std::vector<int64_t>& /*in_counts*/,
                         const c10d::AllToAllOptions& /*options*/) override {
    return copied(out, in);
  }
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_local_backend() {
  return c10::make_intrusive<LocalBackend>();
}

}  // namespace shoal::comm
