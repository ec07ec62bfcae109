// control.h -- small messages between all ranks: flags, metrics, agreements. Always on the CPU,
// never on NCCL.
//
//   const bool stop = control.any(interrupted, "stop requested");
//
//   Control::Later later = control.all_reduce_later(figures, Reduce::kMax, "figures of the step");
//   ...                                                  // the next step
//   later.wait();
//
// Beyond `kBlock` ranks it works in two levels: blocks of neighbours, then their first ranks. A
// rank then holds a few hundred connections instead of one to every other rank, which at 16,384
// ranks no host survives. A thread of its own makes the calls in the order in which they were
// requested. After the deadline wait() throws PeerLost. One thread at a time may request calls.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "shoal/comm/group.h"
#include "shoal/core/activity.h"

namespace shoal::comm {

class OrderedWorker;

class Control {
 public:
  static constexpr int kBlock = 128;

  Control(Group block,
          std::optional<Group> leaders,
          int rank,
          int world_size,
          int block_size,
          ActivityBoard* board);
  Control(Control&&) noexcept;
  ~Control();

  // These block until every rank has made the call.
  void all_reduce(const at::Tensor& inout, Reduce op, std::string_view what);
  void broadcast(const at::Tensor& inout, int root, std::string_view what);
  void barrier(std::string_view what);
  bool any(bool mine, std::string_view what);  // whether `mine` is true on any rank

  // A call in flight; its tensor must not be touched until wait() returns.
  class [[nodiscard]] Later {
   public:
    Later() = default;  // nothing in flight
    explicit Later(std::function<void()> wait) : wait_(std::move(wait)) {}
    [[nodiscard]] bool pending() const { return wait_ != nullptr; }
    void wait();

   private:
    std::function<void()> wait_;
  };
  Later all_reduce_later(const at::Tensor& inout, Reduce op, std::string_view what);

  // Returns `mine` of every rank on rank 0, in rank order; nothing elsewhere. Other ranks hold the
  // texts of their block at most.
  std::vector<std::string> texts_to_first(const std::string& mine, std::string_view what);
  // Returns `mine` of the next rank; on the last rank, that of the first.
  std::string text_of_next(const std::string& mine, std::string_view what);

 private:
  struct Ranks;  // the groups, shared with calls in flight

  // Runs a call after those requested before.
  Later in_order(std::function<void()> call);

  std::shared_ptr<Ranks> ranks_;
  std::unique_ptr<OrderedWorker> worker_;  // absent when this rank is alone
};

}  // namespace shoal::comm
