#include "shoal/comm/control.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "shoal/comm/ordered_worker.h"

namespace shoal::comm {
namespace {

// Calls have deadlines of their own.
constexpr std::chrono::milliseconds kForEver = std::chrono::hours(24 * 365);

at::Tensor bytes_of(const std::string& text, int64_t room) {
  at::Tensor bytes = at::zeros({room}, at::kByte);
  std::memcpy(bytes.data_ptr(), text.data(), text.size());
  return bytes;
}

std::string text_in(const at::Tensor& bytes, int64_t first, int64_t count) {
  return {reinterpret_cast<const char*>(bytes.const_data_ptr<uint8_t>() + first),
          static_cast<size_t>(count)};
}

// On the first rank of the group: padded to the longest.
std::vector<std::string> gather_texts(Group& group,
                                      const std::string& mine,
                                      const std::string& what) {
  const auto own_size = static_cast<int64_t>(mine.size());
  const at::Tensor sizes = at::zeros({group.size()}, at::kLong);
  group.all_gather(sizes, at::full({1}, own_size, at::kLong), what).wait_host();
  const int64_t room = sizes.max().item<int64_t>();
  const bool first = group.rank() == 0;
  const at::Tensor all = first ? at::empty({group.size() * room}, at::kByte) : at::Tensor();
  group.gather(all, bytes_of(mine, room), 0, what).wait_host();
  std::vector<std::string> texts;
  for (int rank = 0; first && rank < group.size(); ++rank)
    texts.push_back(text_in(all, rank * room, sizes.const_data_ptr<int64_t>()[rank]));
  return texts;
}

// Several as one: their lengths, then their bytes.
std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    const uint64_t size = text.size();
    all.append(reinterpret_cast<const char*>(&size), sizeof(size));
  }
  for (const std::string& text : texts) all += text;
  return all;
}

void unpack(const std::string& all, size_t count, std::vector<std::string>& texts) {
  size_t at = count * sizeof(uint64_t);
  for (size_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    std::memcpy(&size, all.data() + i * sizeof(size), sizeof(size));
    texts.push_back(all.substr(at, size));
    at += size;
  }
}

// To the member before, which is the last one's for the first; what the next one has sent.
std::string text_from_next(Group& group, const std::string& text, const std::string& what) {
  using Way = Group::Transfer::Way;
  const int before = (group.rank() + group.size() - 1) % group.size();
  const int next = (group.rank() + 1) % group.size();
  const at::Tensor size = at::zeros({1}, at::kLong);
  const auto own_size = static_cast<int64_t>(text.size());
  group
      .exchange({{Way::kSend, at::full({1}, own_size, at::kLong), before, 0},
                 {Way::kRecv, size, next, 0}},
                what)
      .wait_host();
  const at::Tensor bytes = at::empty({size.item<int64_t>()}, at::kByte);
  group
      .exchange({{Way::kSend, bytes_of(text, own_size), before, 1}, {Way::kRecv, bytes, next, 1}},
                what)
      .wait_host();
  return text_in(bytes, 0, bytes.numel());
}

}  // namespace

struct Control::Ranks {
  Group block;
  std::optional<Group> leaders;  // on the first rank of each block, when there are several
  int rank;
  int world_size;
  int block_size;

  [[nodiscard]] bool one_block() const { return world_size <= block_size; }

  void all_reduce(const at::Tensor& inout, Reduce op, const std::string& what) {
    if (one_block()) {
      block.all_reduce(inout, op, what).wait_host();
      return;
    }
    // Blocks differ in size, so an average of averages would be wrong: sum, and divide at the end.
    const Reduce step = op == Reduce::kAvg ? Reduce::kSum : op;
    block.reduce(inout, step, 0, what).wait_host();
    if (leaders) leaders->all_reduce(inout, step, what).wait_host();
    block.broadcast(inout, 0, what).wait_host();
    if (op == Reduce::kAvg) inout.div_(world_size);
  }

  void broadcast(const at::Tensor& inout, int root, const std::string& what) {
    const int root_block = root / block_size;
    const bool beside_root = rank / block_size == root_block;
    if (beside_root) block.broadcast(inout, root % block_size, what).wait_host();
    if (leaders) leaders->broadcast(inout, root_block, what).wait_host();
    if (!beside_root) block.broadcast(inout, 0, what).wait_host();
  }

  std::vector<std::string> texts_to_first(const std::string& mine, const std::string& what) {
    std::vector<std::string> texts = gather_texts(block, mine, what);
    if (one_block() || !leaders) return texts;
    const std::vector<std::string> blocks = gather_texts(*leaders, packed(texts), what);
    texts.clear();
    for (const std::string& block_texts : blocks) {
      const int left = world_size - static_cast<int>(texts.size());
      unpack(block_texts, static_cast<size_t>(std::min(block_size, left)), texts);
    }
    return texts;
  }

  // The last of a block gets what the first of the next one says from its own leader, who has it from that one.
  std::string text_of_next(const std::string& mine, const std::string& what) {
    const std::string of_next_block = leaders ? text_from_next(*leaders, mine, what) : mine;
    if (block.size() == 1) return of_next_block;
    return text_from_next(block, block.rank() == 0 ? of_next_block : mine, what);
  }
};

Control::Control(Group block,
                 std::optional<Group> leaders,
                 int rank,
                 int world_size,
                 int block_size,
                 ActivityBoard* board)
    : ranks_(std::make_shared<Ranks>(
          Ranks{std::move(block), std::move(leaders), rank, world_size, block_size})),
      worker_(world_size > 1 ? std::make_unique<OrderedWorker>("control", board) : nullptr) {}

Control::Control(Control&&) noexcept = default;
Control::~Control() = default;

void Control::Later::wait() {
  if (!wait_) return;
  const Activity doing("waits for an agreement of all ranks", Pace::kOthers);
  std::exchange(wait_, nullptr)();
}

Control::Later Control::in_order(std::function<void()> call) {
  if (!worker_) {
    call();
    return {};
  }
  return Later([work = worker_->run({}, std::move(call))] { work->wait(kForEver); });
}

Control::Later Control::all_reduce_later(const at::Tensor& inout,
                                         Reduce op,
                                         std::string_view what) {
  return in_order([ranks = ranks_, inout, op, what = std::string(what)] {
    ranks->all_reduce(inout, op, what);
  });
}

void Control::all_reduce(const at::Tensor& inout, Reduce op, std::string_view what) {
  all_reduce_later(inout, op, what).wait();
}

void Control::broadcast(const at::Tensor& inout, int root, std::string_view what) {
  in_order([ranks = ranks_, inout, root, what = std::string(what)] {
    ranks->broadcast(inout, root, what);
  }).wait();
}

void Control::barrier(std::string_view what) { any(false, what); }

bool Control::any(bool mine, std::string_view what) {
  const at::Tensor flag = at::full({1}, mine ? 1 : 0, at::kLong);
  all_reduce(flag, Reduce::kMax, what);
  return flag.const_data_ptr<int64_t>()[0] != 0;
}

std::vector<std::string> Control::texts_to_first(const std::string& mine, std::string_view what) {
  std::vector<std::string> texts;
  in_order([&] { texts = ranks_->texts_to_first(mine, std::string(what)); }).wait();
  return ranks_->rank == 0 ? texts : std::vector<std::string>();
}

std::string Control::text_of_next(const std::string& mine, std::string_view what) {
  std::string next = mine;
  if (worker_) in_order([&] { next = ranks_->text_of_next(mine, std::string(what)); }).wait();
  return next;
}

}  // namespace shoal::comm
