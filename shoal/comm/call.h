// call.h -- the description of one communication call, and the interface of those who observe
// calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/comm/moment.h"

namespace shoal::comm {

enum class Reduce { kSum, kAvg, kMin, kMax };

enum class Op {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kGather,
  kScatter,
  kReduceScatter,
  kAllToAll,
  kSend,
  kRecv,
  kBarrier,
};

std::string_view op_name(Op op);  // "all_reduce", ...

struct Call {
  Op op{};
  std::string what;   // purpose given by the caller: "gradients of block 7"
  std::string group;  // the group's name: "dp_shard"
  int group_size = 1;
  int peer = -1;  // root or partner, as a position in the group; -1 where there is none
  // The bytes of the full tensor: what one rank ends up with, or starts from, whichever is larger.
  int64_t bytes = 0;
  uint64_t sequence = 0;  // number of collectives of this group before it, equal on all its ranks
  uint64_t number = 0;    // number of calls of this group before it, transfers too, on this rank
};

// Observes every call of the groups it was given to.
class CallListener {
 public:
  virtual ~CallListener() = default;
  // On the thread that makes the call, before it starts.
  virtual void on_call(const Call& call) = 0;
  // These are called around the wait for a call, on the thread that waits. `ended` is when it was over, which may be
  // long before. Of several transfers at once only the last is reported here.
  virtual void before_wait(const Call& /*call*/) {}
  virtual void after_wait(const Call& /*call*/, Moment /*ended*/) {}
};

}  // namespace shoal::comm
