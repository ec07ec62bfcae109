// control.h -- small messages between all ranks: flags, metrics, agreements. Always on the CPU,
// never on NCCL.
//
//   const bool stop = control.any(interrupted, "stop requested");
//
// Beyond `kBlock` ranks it works in two levels: blocks of neighbours, then their first ranks. A
// rank then holds a few hundred connections instead of one to every other rank, which at 16,384
// ranks no host survives. Calls block until every rank has made them, and throw PeerLost after the
// deadline. One thread at a time.
#pragma once

#include <optional>
#include <string_view>

#include "shoal/comm/group.h"

namespace shoal::comm {

class Control {
 public:
  static constexpr int kBlock = 128;

  Control(Group block, std::optional<Group> leaders, int rank, int world_size, int block_size);

  void all_reduce(const at::Tensor& inout, Reduce op, std::string_view what);
  void broadcast(const at::Tensor& inout, int root, std::string_view what);
  void barrier(std::string_view what);
  bool any(bool mine, std::string_view what);  // whether some rank says yes

 private:
  [[nodiscard]] bool one_block() const { return world_size_ <= block_size_; }

  Group block_;
  std::optional<Group> leaders_;  // on the first rank of each block, when there are several
  int rank_;
  int world_size_;
  int block_size_;
};

}  // namespace shoal::comm
