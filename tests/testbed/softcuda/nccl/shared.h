// The memory that the ranks of a communicator share: a file in /dev/shm that all of them map. Per rank it has counters,
// what the rank is about to do and a slot for data; per pair of ranks a box for one message.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace softcuda {

constexpr int kMostRanks = 64;
constexpr size_t kSlotBytes = size_t(1) << 20;
constexpr size_t kBoxBytes = size_t(1) << 16;

enum class Function : int {
  kNone,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter
};

// What all ranks of a collective must agree on.
struct Agreement {
  Function function = Function::kNone;
  int type = 0, operation = 0, root = 0;
  size_t count = 0;
  bool operator==(const Agreement&) const = default;
};

struct alignas(64) RankPart {
  std::atomic<uint64_t> arrived;       // meetings of streams that the rank has come to
  std::atomic<uint64_t> host_arrived;  // meetings of hosts
  Agreement agreement;
  int color, key;  // of a split
  int device;
  int process;
};

struct alignas(64) Box {
  std::atomic<uint64_t> written, taken;  // messages, so that a box is full when they differ
  size_t bytes;
  char data[kBoxBytes];
};

class Shared {
 public:
  // Makes or joins the file of that name; all ranks say the same name and number. False when there is no memory.
  bool open(const std::string& name, int ranks);
  // When everybody has it mapped the name is not needed any more.
  static void remove_name(const std::string& name);

  std::atomic<int>& joined() const { return head_->joined; }
  RankPart& rank(int r) const { return head_->ranks[r]; }
  char* slot(int r) const { return slots_ + size_t(r) * kSlotBytes; }
  Box& box(int from, int to) const { return boxes_[from * ranks_ + to]; }

 private:
  struct Head {
    std::atomic<int> joined;
    RankPart ranks[kMostRanks];
  };
  Head* head_ = nullptr;
  char* slots_ = nullptr;
  Box* boxes_ = nullptr;
  int ranks_ = 0;
};

}  // namespace softcuda
