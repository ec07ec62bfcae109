#include "shoal/comm/mpi/mpi.h"

#include <array>
#include <mutex>
#include <thread>

#include "shoal/comm/mpi/collectives.h"
#include "shoal/comm/mpi/session.h"
#include "shoal/comm/ordered_worker.h"
#include "shoal/comm/reduction.h"
#include "shoal/comm/transport.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using Work = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

// A send or receive in flight: as many requests as MPI's int counts make necessary.
class TransferWork final : public c10d::Work {
 public:
  TransferWork(at::Tensor tensor, std::vector<MPI_Request> requests)
      : tensor_(std::move(tensor)), requests_(std::move(requests)) {}

  // A receive that nobody waits for any more may still be written to: its tensor stays for ever.
  ~TransferWork() override {
    if (!done_) new at::Tensor(tensor_);  // NOLINT(bugprone-unused-raii): leaked on purpose
  }

  bool isCompleted() override {
    const std::lock_guard lock(requests_mutex_);
    if (done_) return true;
    int flag = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag,
                          MPI_STATUSES_IGNORE),
              "MPI_Testall");
    done_ = flag != 0;
    return done_;
  }

  bool isSuccess() const override { return true; }

  bool wait(std::chrono::milliseconds timeout) override {
    const Clock::time_point deadline = Clock::now() + timeout;
    for (int64_t spins = 0; !isCompleted(); ++spins) {
      if (timeout != kNoTimeout && Clock::now() >= deadline) throw std::runtime_error("timed out");
      // Most transfers are short; past that, leave the core to those who compute.
      if (spins < 200)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

 private:
  at::Tensor tensor_;
  std::mutex requests_mutex_;
  std::vector<MPI_Request> requests_;
  bool done_ = false;
};

class MpiBackend final : public c10d::Backend {
 public:
  MpiBackend(std::shared_ptr<MpiSession> session,
             const MpiCollectives& mpi,
             MPI_Comm transfers,
             const std::string& group,
             ActivityBoard* board)
      : Backend(mpi.rank(), mpi.size()),
        session_(std::move(session)),
        mpi_(mpi),
        transfers_(transfers),
        worker_("mpi of " + group, board) {}

  const std::string getBackendName() const override { return "mpi"; }

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return worker_.run(tensors,
                       [this, x = tensors.at(0), root = static_cast<int>(options.rootRank)] {
                         mpi_.broadcast(x, root);
                       });
  }

  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return worker_.run(tensors, [this, x = tensors.at(0), op = to_reduce(options.reduceOp)] {
      mpi_.all_reduce(x, op);
    });
  }

  Work allreduce_coalesced(Tensors& tensors,
                           const c10d::AllreduceCoalescedOptions& options) override {
    return worker_.run(tensors, [this, tensors, op = to_reduce(options.reduceOp)] {
      for (const at::Tensor& tensor : tensors) mpi_.all_reduce(tensor, op);
    });
  }

  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return worker_.run(tensors,
                       [this, x = tensors.at(0), op = to_reduce(options.reduceOp),
                        root = static_cast<int>(options.rootRank)] { mpi_.reduce(x, op, root); });
  }

  Work all_gather_single(at::Tensor& out,
                         at::Tensor& in,
                         const c10d::AllgatherOptions& /*options*/) override {
    return worker_.run({out, in}, [this, out, in] { mpi_.all_gather(out, in); });
  }

  Work all_gather_single_coalesced(Tensors& outs,
                                   Tensors& ins,
                                   const c10d::AllgatherOptions& /*options*/) override {
    return worker_.run({}, [this, outs, ins] {
      for (size_t i = 0; i < outs.size(); ++i) mpi_.all_gather(outs[i], ins[i]);
    });
  }

  Work reduce_scatter_single(at::Tensor& out,
                             at::Tensor& in,
                             const c10d::ReduceScatterOptions& options) override {
    return worker_.run({out, in}, [this, out, in, op = to_reduce(options.reduceOp)] {
      mpi_.reduce_scatter(out, in, op);
    });
  }

  Work reduce_scatter_single_coalesced(Tensors& outs,
                                       Tensors& ins,
                                       const c10d::ReduceScatterOptions& options) override {
    return worker_.run({}, [this, outs, ins, op = to_reduce(options.reduceOp)] {
      for (size_t i = 0; i < outs.size(); ++i) mpi_.reduce_scatter(outs[i], ins[i], op);
    });
  }

  // The parts that Group passes are views that lie side by side, so the first one is where the
  // whole begins.
  Work gather(std::vector<Tensors>& outs,
              Tensors& ins,
              const c10d::GatherOptions& options) override {
    const at::Tensor out = outs.empty() ? at::Tensor() : outs[0].at(0);
    return worker_.run({out, ins.at(0)},
                       [this, out, in = ins.at(0), root = static_cast<int>(options.rootRank)] {
                         mpi_.gather(out, in, root);
                       });
  }

  Work scatter(Tensors& outs,
               std::vector<Tensors>& ins,
               const c10d::ScatterOptions& options) override {
    const at::Tensor in = ins.empty() ? at::Tensor() : ins[0].at(0);
    return worker_.run({outs.at(0), in},
                       [this, out = outs.at(0), in, root = static_cast<int>(options.rootRank)] {
                         mpi_.scatter(out, in, root);
                       });
  }

  Work all_to_all_single(at::Tensor& out,
                         at::Tensor& in,
                         std::vector<int64_t>& out_counts,
                         std::vector<int64_t>& in_counts,
                         const c10d::AllToAllOptions& /*options*/) override {
    return worker_.run({out, in}, [this, out, in, out_splits = equal_if_empty(out_counts, out),
                                   in_splits = equal_if_empty(in_counts, in)] {
      mpi_.all_to_all(out, in, out_splits, in_splits);
    });
  }

  Work barrier(const c10d::BarrierOptions& /*options*/) override {
    return worker_.run({}, [this] { mpi_.barrier(); });
  }

  Work send(Tensors& tensors, int to, int tag) override {
    return transfer(tensors.at(0), [&](void* data, int count, MPI_Datatype type,
                                       MPI_Request* request) {
      check_mpi(MPI_Isend(data, count, type, to, own_tag(tag), transfers_, request), "MPI_Isend");
    });
  }

  Work recv(Tensors& tensors, int from, int tag) override {
    return transfer(tensors.at(0), [&](void* data, int count, MPI_Datatype type,
                                       MPI_Request* request) {
      check_mpi(MPI_Irecv(data, count, type, from, own_tag(tag), transfers_, request), "MPI_Irecv");
    });
  }

 private:
  [[nodiscard]] std::vector<int64_t> equal_if_empty(const std::vector<int64_t>& counts,
                                                    const at::Tensor& tensor) const {
    if (!counts.empty()) return counts;
    return std::vector<int64_t>(static_cast<size_t>(getSize()), tensor.numel() / getSize());
  }

  // An MPI may have fewer tags than a Group. Those of transfers that are under way at a time are near each other.
  [[nodiscard]] int own_tag(int tag) const { return tag % session_->tags(); }

  template <class Start>
  Work transfer(const at::Tensor& tensor, Start start) {
    std::vector<MPI_Request> requests;
    const int64_t limit = mpi_.max_count();
    for (int64_t first = 0; first < tensor.numel(); first += limit) {
      requests.push_back(MPI_REQUEST_NULL);
      start(static_cast<char*>(tensor.data_ptr()) + first * tensor.element_size(),
            static_cast<int>(std::min(limit, tensor.numel() - first)), mpi_type_of(tensor),
            &requests.back());
    }
    return c10::make_intrusive<TransferWork>(tensor, std::move(requests));
  }

  std::shared_ptr<MpiSession> session_;  // MPI ends after the last communicator
  MpiCollectives mpi_;
  MPI_Comm transfers_;    // of its own: all_to_all is made of messages too, with tags of ours
  OrderedWorker worker_;  // last: its thread uses the members above
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const MpiOptions& options)
      : options_(options), session_(std::make_shared<MpiSession>(options.max_tags)) {
    if (session_->rank() != options.rank || session_->size() != options.world_size) {
      throw UsageError(format(
          "MPI says this is rank {} of {}, but the environment says {} of {}: start shoal with the "
          "launcher of the MPI it was built with",
          session_->rank(), session_->size(), options.rank, options.world_size));
    }
  }

  [[nodiscard]] std::string name() const override { return "mpi"; }

  c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int color) override {
    const auto make = [&] {
      return session_->make_communicator(group.ranks, color % session_->tags());
    };
    const MpiCollectives mpi(make(), options_.max_count);
    return c10::make_intrusive<MpiBackend>(session_, mpi, make(), group.name, options_.board);
  }

 private:
  MpiOptions options_;
  std::shared_ptr<MpiSession> session_;
};

}  // namespace

MpiStatus mpi_status() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data(), static_cast<size_t>(length));
  return {true, version.substr(0, version.find_first_of(",\n"))};
}

std::unique_ptr<Transport> make_mpi_transport(const MpiOptions& options) {
  return std::make_unique<MpiTransport>(options);
}

}  // namespace shoal::comm
