// group.h -- groups of ranks that communicate, and communication in flight.
//
//   Group dp = groups.along(plan::Axis::kDpShard);
//   Pending sum = dp.all_reduce(gradients, Reduce::kAvg, "gradients of block 7");
//   ...                              // overlap
//   sum.wait();
//
// Every call names its purpose, so that a hang reads "rank 3: 300 s in all_reduce 'gradients of
// block 7' on dp_shard (4 ranks); ranks 5 did not arrive" and not "timeout". All ranks of a group
// make the same calls in the same order. A group of one rank is legal: every call then completes at
// once.
//
// Tensors are contiguous, of one device, and double, float, bfloat16, half or int64 (uint8 too
// where nothing is reduced); others throw BugError. They must not be read or written between the
// call and the wait. A peer that is gone or late throws PeerLost, after which no group of the job
// can be used any more: waiting for an unfinished call then throws at once. A Group is a handle:
// copies share one communicator. Calls come from one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "shoal/comm/call.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

struct GroupState;
struct Flight;  // both private to comm/

// Communication in flight. It keeps its tensors alive; dropping one without wait() is a bug, which
// aborts in dev builds and is logged in release builds.
class [[nodiscard]] Pending {
 public:
  Pending();  // nothing in flight
  explicit Pending(std::unique_ptr<Flight> flight);
  Pending(Pending&& other) noexcept;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  // Makes later work on the current stream see the result. On the CPU there is no stream: this
  // blocks, at most as long as the group's deadline.
  void wait();

  // Blocks this thread until the result is there; throws PeerLost after the deadline (default: the
  // group's).
  void wait_host();
  void wait_host(Duration deadline);

  // Returns whether the call is complete, without waiting. Gloo reports a send or receive only in
  // wait(): false until then.
  [[nodiscard]] bool done() const;

 private:
  void drop();
  void refuse_to_wait();

  std::unique_ptr<Flight> flight_;
};

class Group {
 public:
  explicit Group(std::shared_ptr<GroupState> state) : state_(std::move(state)) {}

  [[nodiscard]] int rank() const;  // position in this group
  [[nodiscard]] int size() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::vector<int>& ranks() const;  // ranks of the job, in group order
  [[nodiscard]] std::string_view backend() const;

  Pending all_reduce(at::Tensor inout, Reduce op, std::string_view what);
  // On ranks other than root, the content of `inout` is undefined afterwards.
  Pending reduce(at::Tensor inout, Reduce op, int root, std::string_view what);
  Pending broadcast(at::Tensor inout, int root, std::string_view what);
  // Writes the shards to `out` in rank order.
  Pending all_gather(at::Tensor out, at::Tensor shard, std::string_view what);
  // `out` may be undefined except at root.
  Pending gather(at::Tensor out, at::Tensor shard, int root, std::string_view what);
  // `in` may be undefined except at root.
  Pending scatter(at::Tensor shard, at::Tensor in, int root, std::string_view what);
  Pending reduce_scatter(at::Tensor shard, at::Tensor in, Reduce op, std::string_view what);

  // The number of elements per rank; empty means equal parts.
  struct Splits {
    std::vector<int64_t> out;
    std::vector<int64_t> in;
  };
  Pending all_to_all(const at::Tensor& out,
                     const at::Tensor& in,
                     const Splits& splits,
                     std::string_view what);

  // Sends and receives match by tag, then in order. Post all of an exchange before waiting for one:
  // a send may complete only once it is received.
  Pending send(at::Tensor tensor, int to, int tag, std::string_view what);
  Pending recv(at::Tensor tensor, int from, int tag, std::string_view what);
  static constexpr int kMaxTag = (1 << 24) - 1;

  Pending barrier(std::string_view what);

  // These communicate several tensors at once: for many small ones, or where the backend fuses
  // launches.
  Pending all_reduce(const std::vector<at::Tensor>& inout, Reduce op, std::string_view what);
  Pending all_gather(const std::vector<at::Tensor>& out,
                     const std::vector<at::Tensor>& shards,
                     std::string_view what);
  Pending reduce_scatter(const std::vector<at::Tensor>& shards,
                         const std::vector<at::Tensor>& in,
                         Reduce op,
                         std::string_view what);

  struct Transfer {
    enum class Way { kSend, kRecv } way;
    at::Tensor tensor;
    int peer;
    int tag;
  };
  Pending exchange(const std::vector<Transfer>& transfers, std::string_view what);

 private:
  std::shared_ptr<GroupState> state_;
};

}  // namespace shoal::comm
