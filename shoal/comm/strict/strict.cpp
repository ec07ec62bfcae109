#include "shoal/comm/strict/strict.h"

#include <utility>

#include <ATen/ATen.h>

#include "shoal/comm/call.h"
#include "shoal/comm/ordered_worker.h"
#include "shoal/comm/reduction.h"
#include "shoal/comm/strict/lent_tensors.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

constexpr int kAnnouncing = 0;  // tags of the transport underneath
constexpr int kCarrying = 1;

// A message that precedes each call: ranks that communicate must announce the same.
struct Announcement {
  Op op{};
  int64_t bytes = 0;
  int64_t type = 0;
  int64_t detail = 0;  // tag of a message; root or reduction of a collective

  [[nodiscard]] at::Tensor tensor() const {
    return at::tensor({static_cast<int64_t>(op), bytes, type, detail}, at::kLong);
  }
  static Announcement of(const at::Tensor& told) {
    const int64_t* values = told.const_data_ptr<int64_t>();
    return {static_cast<Op>(values[0]), values[1], values[2], values[3]};
  }
  [[nodiscard]] std::string text() const {
    return format("{} of {} bytes of {} ({})", op_name(op), bytes,
                  c10::toString(static_cast<at::ScalarType>(type)), detail);
  }
  bool operator==(const Announcement&) const = default;
};

int64_t type_of(const Tensors& tensors) {
  return static_cast<int64_t>(tensors.empty() ? at::kByte : tensors.front().scalar_type());
}

// A call whose results arrive in its wait().
class StrictWork final : public c10d::Work {
 public:
  StrictWork(WorkPtr call, std::vector<std::shared_ptr<LentTensors>> lent)
      : call_(std::move(call)), lent_(std::move(lent)) {}

  bool isCompleted() override { return call_->isCompleted(); }
  bool isSuccess() const override { return call_->isSuccess(); }

  bool wait(std::chrono::milliseconds timeout) override {
    call_->wait(timeout);
    for (const auto& lent : lent_) lent->give_back();
    lent_.clear();
    return true;
  }

 private:
  WorkPtr call_;
  std::vector<std::shared_ptr<LentTensors>> lent_;
};

class StrictBackend final : public c10d::Backend {
 public:
  StrictBackend(c10::intrusive_ptr<c10d::Backend> inner,
                const GroupSpec& group,
                ActivityBoard* board)
      : Backend(inner->getRank(), inner->getSize()),
        inner_(std::move(inner)),
        group_(group),
        worker_("strict calls of " + group.name, board) {}

  const std::string getBackendName() const override { return "strict"; }

  // ---- messages ----

  WorkPtr send(Tensors& tensors, int to, int tag) override {
    return message({.op = Op::kSend, .tensor = tensors.at(0), .peer = to, .tag = tag});
  }

  WorkPtr recv(Tensors& tensors, int from, int tag) override {
    return message({.op = Op::kRecv, .tensor = tensors.at(0), .peer = from, .tag = tag});
  }

  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override { coalescing_ = true; }
  WorkPtr endCoalescing() override {
    coalescing_ = false;
    return exchange(std::exchange(together_, {}));
  }

  // ---- collectives ----

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return collective(Op::kBroadcast, options.rootRank, {}, tensors,
                      [this, options](Tensors& /*ins*/, Tensors& outs) {
                        return inner_->broadcast(outs, options);
                      });
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return collective(Op::kAllReduce, number_of(options.reduceOp), {}, tensors,
                      [this, options](Tensors& /*ins*/, Tensors& outs) {
                        return inner_->allreduce(outs, options);
                      });
  }

  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override {
    return collective(Op::kAllReduce, number_of(options.reduceOp), {}, tensors,
                      [this, options](Tensors& /*ins*/, Tensors& outs) {
                        return inner_->allreduce_coalesced(outs, options);
                      });
  }

  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return collective(
        Op::kReduce, options.rootRank, {}, tensors,
        [this, options](Tensors& /*ins*/, Tensors& outs) { return inner_->reduce(outs, options); });
  }

  WorkPtr all_gather_single(at::Tensor& out,
                            at::Tensor& in,
                            const c10d::AllgatherOptions& options) override {
    Tensors outs = {out};
    Tensors ins = {in};
    return all_gather_single_coalesced(outs, ins, options);
  }

  WorkPtr all_gather_single_coalesced(Tensors& outs,
                                      Tensors& ins,
                                      const c10d::AllgatherOptions& options) override {
    return collective(Op::kAllGather, 0, ins, outs, [this, options](Tensors& in, Tensors& out) {
      return inner_->all_gather_single_coalesced(out, in, options);
    });
  }

  WorkPtr reduce_scatter_single(at::Tensor& out,
                                at::Tensor& in,
                                const c10d::ReduceScatterOptions& options) override {
    Tensors outs = {out};
    Tensors ins = {in};
    return reduce_scatter_single_coalesced(outs, ins, options);
  }

  WorkPtr reduce_scatter_single_coalesced(Tensors& outs,
                                          Tensors& ins,
                                          const c10d::ReduceScatterOptions& options) override {
    return collective(Op::kReduceScatter, number_of(options.reduceOp), ins, outs,
                      [this, options](Tensors& in, Tensors& out) {
                        return inner_->reduce_scatter_single_coalesced(out, in, options);
                      });
  }

  WorkPtr gather(std::vector<Tensors>& outs,
                 Tensors& ins,
                 const c10d::GatherOptions& options) override {
    const bool root = getRank() == options.rootRank;
    return collective(Op::kGather, options.rootRank, ins, root ? outs.at(0) : Tensors(),
                      [this, root, options](Tensors& in, Tensors& out) {
                        std::vector<Tensors> parts;
                        if (root) parts.push_back(out);
                        return inner_->gather(parts, in, options);
                      });
  }

  WorkPtr scatter(Tensors& outs,
                  std::vector<Tensors>& ins,
                  const c10d::ScatterOptions& options) override {
    const bool root = getRank() == options.rootRank;
    return collective(Op::kScatter, options.rootRank, root ? ins.at(0) : Tensors(), outs,
                      [this, root, options](Tensors& in, Tensors& out) {
                        std::vector<Tensors> parts;
                        if (root) parts.push_back(in);
                        return inner_->scatter(out, parts, options);
                      });
  }

  WorkPtr all_to_all_single(at::Tensor& out,
                            at::Tensor& in,
                            std::vector<int64_t>& out_counts,
                            std::vector<int64_t>& in_counts,
                            const c10d::AllToAllOptions& options) override {
    return collective(Op::kAllToAll, 0, {in}, {out},
                      [this, out_counts, in_counts, options](Tensors& ins, Tensors& outs) mutable {
                        return inner_->all_to_all_single(outs[0], ins[0], out_counts, in_counts,
                                                         options);
                      });
  }

  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    return collective(
        Op::kBarrier, 0, {}, {},
        [this, options](Tensors& /*ins*/, Tensors& /*outs*/) { return inner_->barrier(options); });
  }

 private:
  struct Message {
    Op op{};
    at::Tensor tensor;
    int peer = 0;
    int tag = 0;
  };

  static int64_t number_of(const c10d::ReduceOp& op) { return static_cast<int64_t>(to_reduce(op)); }

  void check_device(const Tensors& tensors) const {
    for (const at::Tensor& tensor : tensors) {
      SHOAL_CHECK(tensor.is_cpu(), "a tensor on {} in group {}, which is for CPUs",
                  tensor.device().str(), group_.name);
    }
  }

  int world_rank(int member) const { return group_.ranks[static_cast<size_t>(member)]; }

  // Sizes may differ between ranks in an all-to-all, and only the root has the whole tensor of a
  // gather.
  static int64_t bytes_alike(Op op, const Tensors& ins, const Tensors& outs) {
    switch (op) {
      case Op::kAllToAll:
        return 0;
      case Op::kGather:
        return bytes_of(ins);
      case Op::kScatter:
        return bytes_of(outs);
      default:
        return bytes_of(ins) + bytes_of(outs);
    }
  }

  template <class Start>
  WorkPtr collective(Op op, int64_t detail, const Tensors& ins, const Tensors& outs, Start start) {
    check_device(ins);
    check_device(outs);
    const Announcement mine{.op = op,
                            .bytes = bytes_alike(op, ins, outs),
                            .type = type_of(ins.empty() ? outs : ins),
                            .detail = detail};
    auto lent = std::make_shared<LentTensors>(ins, outs);
    auto run = [this, lent, mine, start]() mutable {
      require_agreement(mine);
      start(lent->inputs(), lent->outputs())->wait();
    };
    return c10::make_intrusive<StrictWork>(worker_.run({}, std::move(run)),
                                           std::vector{std::move(lent)});
  }

  void require_agreement(const Announcement& mine) {
    at::Tensor own = mine.tensor();
    at::Tensor all = at::empty({getSize() * own.numel()}, own.options());
    inner_->all_gather_single(all, own, {})->wait();
    for (int member = 0; member < getSize(); ++member) {
      const Announcement theirs =
          Announcement::of(all.narrow(0, member * own.numel(), own.numel()));
      SHOAL_CHECK(theirs == mine, "on {} rank {} makes a {} where rank {} makes a {}", group_.name,
                  world_rank(getRank()), mine.text(), world_rank(member), theirs.text());
    }
  }

  WorkPtr message(const Message& message) {
    if (!coalescing_) return exchange({message});
    together_.push_back(message);
    return nullptr;
  }

  // Runs messages concurrently, as NCCL does between ncclGroupStart and ncclGroupEnd.
  WorkPtr exchange(const std::vector<Message>& messages) {
    std::vector<std::shared_ptr<LentTensors>> lent;
    for (const Message& message : messages) {
      const Tensors one = {message.tensor};
      check_device(one);
      const bool sends = message.op == Op::kSend;
      lent.push_back(
          std::make_shared<LentTensors>(sends ? one : Tensors(), sends ? Tensors() : one));
    }
    return c10::make_intrusive<StrictWork>(
        worker_.run({}, [this, messages, lent] { carry(messages, lent); }), lent);
  }

  void carry(const std::vector<Message>& messages,
             const std::vector<std::shared_ptr<LentTensors>>& lent) {
    std::vector<Tensors> announced;
    for (const Message& message : messages)
      announced.push_back({announcement_of(message).tensor()});
    move_all(messages, announced, kAnnouncing);
    for (size_t i = 0; i < messages.size(); ++i) {
      if (messages[i].op == Op::kRecv) require_expected(messages[i], announced[i].front());
    }
    std::vector<Tensors> carried;
    for (size_t i = 0; i < messages.size(); ++i)
      carried.push_back(messages[i].op == Op::kSend ? lent[i]->inputs() : lent[i]->outputs());
    move_all(messages, carried, kCarrying);
  }

  void move_all(const std::vector<Message>& messages, std::vector<Tensors>& tensors, int tag) {
    std::vector<WorkPtr> works;
    for (size_t i = 0; i < messages.size(); ++i) {
      works.push_back(messages[i].op == Op::kSend
                          ? inner_->send(tensors[i], messages[i].peer, tag)
                          : inner_->recv(tensors[i], messages[i].peer, tag));
    }
    for (const WorkPtr& work : works) work->wait();
  }

  static Announcement announcement_of(const Message& message) {
    return {.op = Op::kSend,
            .bytes = bytes_of({message.tensor}),
            .type = type_of({message.tensor}),
            .detail = message.tag};
  }

  void require_expected(const Message& message, const at::Tensor& told) const {
    const Announcement expected = announcement_of(message);
    const Announcement theirs = Announcement::of(told);
    SHOAL_CHECK(theirs == expected, "on {} rank {} expects a {} from rank {} and meets a {}",
                group_.name, world_rank(getRank()), expected.text(), world_rank(message.peer),
                theirs.text());
  }

  c10::intrusive_ptr<c10d::Backend> inner_;
  GroupSpec group_;
  OrderedWorker worker_;
  bool coalescing_ = false;
  std::vector<Message> together_;
};

class StrictTransport final : public Transport {
 public:
  StrictTransport(std::unique_ptr<Transport> inner, ActivityBoard* board)
      : inner_(std::move(inner)), board_(board) {}

  [[nodiscard]] std::string name() const override { return "strict"; }

  c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int color) override {
    return c10::make_intrusive<StrictBackend>(inner_->make_group(group, color), group, board_);
  }

  c10::intrusive_ptr<c10d::Backend> make_bare_group(const GroupSpec& group, int color) override {
    return inner_->make_bare_group(group, color);
  }

  void close_doors() override { inner_->close_doors(); }

 private:
  std::unique_ptr<Transport> inner_;
  ActivityBoard* board_;
};

}  // namespace

std::unique_ptr<Transport> make_strict_transport(std::unique_ptr<Transport> inner,
                                                 ActivityBoard* board) {
  return std::make_unique<StrictTransport>(std::move(inner), board);
}

}  // namespace shoal::comm
