#include "collectives.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "reduction.h"
#include "report.h"
#include "types.h"

namespace softcuda {
namespace {

std::string described(const Agreement& agreement) {
  return std::string(name_of(agreement.function)) + " of " + std::to_string(agreement.count) + " " +
         name_of(agreement.type) + " (operation " + std::to_string(agreement.operation) +
         ", root " + std::to_string(agreement.root) + ")";
}

// True when all ranks are about to do the same.
bool agree(Communicator& communicator, const Agreement& agreement, size_t stream) {
  const Shared& shared = communicator.shared();
  shared.rank(communicator.rank()).agreement = agreement;
  if (!communicator.meet()) return false;
  std::string difference;
  for (int r = 0; r < communicator.ranks() && difference.empty(); ++r) {
    const Agreement& other = shared.rank(r).agreement;
    if (other == agreement) continue;
    difference = "mismatch on stream " + std::to_string(stream) + ": rank " +
                 std::to_string(communicator.rank()) + " calls " + described(agreement) +
                 ", but rank " + std::to_string(r) + " calls " + described(other);
  }
  if (!communicator.meet()) return false;
  if (difference.empty()) return true;
  communicator.fail(ncclInvalidUsage, difference);
  communicator.wait_until([] { return false; });
  return false;
}

// One part of a collective, of at most a slot. Some ranks put bytes into their slots, all meet, some take, all meet.
class Part {
 public:
  Part(
      Communicator& communicator, const Agreement& agreement, const char* from, char* to, size_t at)
      : communicator_(communicator),
        agreement_(agreement),
        from_(from),
        to_(to),
        at_(at),
        total_(agreement.count * width_of(agreement.type)),
        bytes_(std::min(kSlotBytes, total_ - at)) {}

  // False when the communicator was aborted.
  bool run() const {
    switch (agreement_.function) {
      case Function::kAllReduce:
        return round(from_, [&] { reduce(); });
      case Function::kReduce:
        return round(from_, [&] {
          if (is_root()) reduce();
        });
      case Function::kBroadcast:
        return round(is_root() ? from_ : nullptr, [&] {
          if (!is_root() || to_ != from_) take(agreement_.root, to_);
        });
      case Function::kAllGather:
        return round(from_, [&] { take_all(); });
      case Function::kGather:
        return round(from_, [&] {
          if (is_root()) take_all();
        });
      case Function::kReduceScatter:
        return for_each_rank([&](int to) {
          return round(from_ + offset(to), [&] {
            if (to == communicator_.rank()) reduce();
          });
        });
      case Function::kAllToAll:
        return for_each_rank([&](int to) {
          return round(from_ + offset(to), [&] {
            if (to == communicator_.rank()) take_all();
          });
        });
      case Function::kScatter:
        return for_each_rank([&](int to) {
          return round(is_root() ? from_ + offset(to) : nullptr, [&] {
            if (to == communicator_.rank()) take(agreement_.root, to_);
          });
        });
      case Function::kNone:
        break;
    }
    return true;
  }

 private:
  bool is_root() const { return communicator_.rank() == agreement_.root; }
  size_t offset(int rank) const { return size_t(rank) * total_; }

  bool round(const char* mine, const std::function<void()>& take) const {
    if (mine) std::memcpy(communicator_.shared().slot(communicator_.rank()), mine + at_, bytes_);
    if (!communicator_.meet()) return false;
    take();
    return communicator_.meet();
  }
  bool for_each_rank(const std::function<bool(int)>& visit) const {
    for (int r = 0; r < communicator_.ranks(); ++r) {
      if (!visit(r)) return false;
    }
    return true;
  }
  void reduce() const {
    const size_t elements = bytes_ / width_of(agreement_.type);
    reduce_slots(communicator_, to_ + at_, elements, agreement_.type, agreement_.operation);
  }
  void take(int rank, char* to) const {
    std::memcpy(to + at_, communicator_.shared().slot(rank), bytes_);
  }
  void take_all() const {
    for (int r = 0; r < communicator_.ranks(); ++r) take(r, to_ + offset(r));
  }

  Communicator& communicator_;
  const Agreement& agreement_;
  const char* from_;
  char* to_;
  const size_t at_, total_, bytes_;
};

}  // namespace

const char* name_of(Function function) {
  switch (function) {
    case Function::kAllReduce:
      return "ncclAllReduce";
    case Function::kAllGather:
      return "ncclAllGather";
    case Function::kReduceScatter:
      return "ncclReduceScatter";
    case Function::kBroadcast:
      return "ncclBroadcast";
    case Function::kReduce:
      return "ncclReduce";
    case Function::kAllToAll:
      return "ncclAlltoAll";
    case Function::kGather:
      return "ncclGather";
    case Function::kScatter:
      return "ncclScatter";
    case Function::kNone:
      break;
  }
  return "nothing";
}

Extent extent_of(const Agreement& agreement, int rank, int ranks) {
  const auto all = size_t(ranks);
  const bool root = rank == agreement.root;
  switch (agreement.function) {
    case Function::kAllReduce:
      return {1, 1};
    case Function::kAllGather:
      return {1, all};
    case Function::kReduceScatter:
      return {all, 1};
    case Function::kBroadcast:
      return {root ? size_t(1) : 0, 1};
    case Function::kReduce:
      return {1, root ? size_t(1) : 0};
    case Function::kAllToAll:
      return {all, all};
    case Function::kGather:
      return {1, root ? all : 0};
    case Function::kScatter:
      return {root ? all : 0, 1};
    case Function::kNone:
      break;
  }
  return {0, 0};
}

void run_collective(Communicator& communicator,
                    const Agreement& agreement,
                    const char* from,
                    char* to,
                    size_t stream) {
  if (!agree(communicator, agreement, stream)) return;
  const size_t total = agreement.count * width_of(agreement.type);
  for (size_t at = 0; at < total; at += kSlotBytes) {
    if (!Part(communicator, agreement, from, to, at).run()) return;
  }
}

}  // namespace softcuda
