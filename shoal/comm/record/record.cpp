#include "shoal/comm/record/record.h"

#include "shoal/comm/ordered_worker.h"
#include "shoal/comm/transport.h"

namespace shoal::comm {
namespace {

using Work = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

class RecordBackend final : public c10d::Backend {
 public:
  RecordBackend(int rank, int size) : Backend(rank, size) {}

  const std::string getBackendName() const override { return "record"; }

  Work broadcast(Tensors& /*t*/, const c10d::BroadcastOptions& /*o*/) override {
    return finished_work();
  }
  Work allreduce(Tensors& /*t*/, const c10d::AllreduceOptions& /*o*/) override {
    return finished_work();
  }
  Work allreduce_coalesced(Tensors& /*t*/, const c10d::AllreduceCoalescedOptions& /*o*/) override {
    return finished_work();
  }
  Work reduce(Tensors& /*t*/, const c10d::ReduceOptions& /*o*/) override { return finished_work(); }
  Work barrier(const c10d::BarrierOptions& /*o*/) override { return finished_work(); }
  Work send(Tensors& /*t*/, int /*to*/, int /*tag*/) override { return finished_work(); }
  Work recv(Tensors& /*t*/, int /*from*/, int /*tag*/) override { return finished_work(); }

  Work all_gather_single(at::Tensor& /*out*/,
                         at::Tensor& /*in*/,
                         const c10d::AllgatherOptions& /*o*/) override {
    return finished_work();
  }
  Work all_gather_single_coalesced(Tensors& /*outs*/,
                                   Tensors& /*ins*/,
                                   const c10d::AllgatherOptions& /*o*/) override {
    return finished_work();
  }
  Work reduce_scatter_single(at::Tensor& /*out*/,
                             at::Tensor& /*in*/,
                             const c10d::ReduceScatterOptions& /*o*/) override {
    return finished_work();
  }
  Work reduce_scatter_single_coalesced(Tensors& /*outs*/,
                                       Tensors& /*ins*/,
                                       const c10d::ReduceScatterOptions& /*o*/) override {
    return finished_work();
  }
  Work gather(std::vector<Tensors>& /*outs*/,
              Tensors& /*ins*/,
              const c10d::GatherOptions& /*o*/) override {
    return finished_work();
  }
  Work scatter(Tensors& /*outs*/,
               std::vector<Tensors>& /*ins*/,
               const c10d::ScatterOptions& /*o*/) override {
    return finished_work();
  }
  Work all_to_all_single(at::Tensor& /*out*/,
                         at::Tensor& /*in*/,
                         std::vector<int64_t>& /*out_counts*/,
                         std::vector<int64_t>& /*in_counts*/,
                         const c10d::AllToAllOptions& /*o*/) override {
    return finished_work();
  }
};

class RecordTransport final : public Transport {
 public:
  [[nodiscard]] std::string name() const override { return "record"; }

  c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int /*color*/) override {
    return c10::make_intrusive<RecordBackend>(group.rank, group.size());
  }
};

}  // namespace

std::unique_ptr<Transport> make_record_transport() { return std::make_unique<RecordTransport>(); }

}  // namespace shoal::comm
