// call.h -- one communication as its caller asked for it, and who wants to know about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  std::string what;   // the purpose its caller named: "gradients of block 7"
  std::string group;  // the group's name: "dp_shard"
  int group_size = 1;
  int peer = -1;  // root or partner, as a position in the group; -1 where there is none
  // Of the full side: what one rank ends up with, or starts from, whichever is larger.
  int64_t bytes = 0;
  uint64_t sequence = 0;  // collectives of this group before it: the same on all its ranks
};

// Hears of every call of the groups it was given to, on the thread that makes the call, before it
// starts.
class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void on_call(const Call& call) = 0;
};

}  // namespace shoal::comm
