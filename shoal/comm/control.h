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
// ranks no host survives. Calls are made by a thread of its own, one after the other in the order in which they were asked
// for, and throw PeerLost after the deadline, where they are waited for. One thread asks at a time.
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

  // Block until every rank has made them.
  void all_reduce(const at::Tensor& inout, Reduce op, std::string_view what);
  void broadcast(const at::Tensor& inout, int root, std::string_view what);
  void barrier(std::string_view what);
  bool any(bool mine, std::string_view what);  // whether some rank says yes

  // One that goes on behind other work; the tensor is not to be touched until it is waited for.
  class [[nodiscard]] Later {
   public:
    Later() = default;  // nothing
    explicit Later(std::function<void()> wait) : wait_(std::move(wait)) {}
    [[nodiscard]] bool pending() const { return wait_ != nullptr; }
    void wait();

   private:
    std::function<void()> wait_;
  };
  Later all_reduce_later(const at::Tensor& inout, Reduce op, std::string_view what);

  // `mine` of every rank on rank 0, in their order; nothing elsewhere. A rank holds those of its block at most.
  std::vector<std::string> texts_to_first(const std::string& mine, std::string_view what);
  // That of the next rank; of the first, on the last.
  std::string text_of_next(const std::string& mine, std::string_view what);

 private:
  struct Ranks;  // what calls are made with: shared with those under way

  // Behind what was asked for before.
  Later in_order(std::function<void()> call);

  std::shared_ptr<Ranks> ranks_;
  std::unique_ptr<OrderedWorker> worker_;  // none: this rank is alone
};

}  // namespace shoal::comm
