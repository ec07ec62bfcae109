#include "shoal/comm/pairwise.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "shoal/comm/accumulate.h"
#include "shoal/comm/group.h"
#include "shoal/comm/ordered_worker.h"
#include "shoal/comm/reduction.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using Work = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

// Small enough that a chunk is added up while the next one arrives and both stay in the cache.
// Between 128 Ki and 1 Mi elements, with 4 or 8 buffers, `shoal bench comm` shows no difference
// beyond its noise.
constexpr int64_t kChunkElements = 256 << 10;
constexpr int64_t kBuffers = 4;

// Tags of ours start above those that Group::send accepts: 16 bits of chunk, 12 bits of sequence.
constexpr int kFirstTag = 1 << 30;
constexpr int kChunkBits = 16;
constexpr unsigned kSequenceMask = (1U << 12) - 1;
static_assert(Group::kMaxTag < kFirstTag);

at::Tensor part(const at::Tensor& flat, int64_t index, int64_t size) {
  return flat.narrow(0, index * size, size);
}

// Memory that grows and is then kept; as aligned as that of tensors.
class Scratch {
 public:
  void hold(size_t bytes) {
    if (bytes <= bytes_) return;
    memory_.reset();
    memory_.reset(::operator new(bytes, kAlignment));
    bytes_ = bytes;
  }
  [[nodiscard]] void* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};

  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::unique_ptr<void, Free> memory_;
  size_t bytes_ = 0;
};

class PairwiseBackend final : public c10d::Backend {
 public:
  PairwiseBackend(c10::intrusive_ptr<c10d::Backend> inner,
                  const std::string& group,
                  ActivityBoard* board)
      : Backend(inner->getRank(), inner->getSize()),
        inner_(std::move(inner)),
        worker_("collectives of " + group, board) {}

  const std::string getBackendName() const override { return inner_->getBackendName(); }

  // ---- passed through ----

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return inner_->broadcast(tensors, options);
  }

  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return inner_->allreduce(tensors, options);
  }

  Work allreduce_coalesced(Tensors& tensors,
                           const c10d::AllreduceCoalescedOptions& options) override {
    return inner_->allreduce_coalesced(tensors, options);
  }

  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return inner_->reduce(tensors, options);
  }

  Work all_to_all_single(at::Tensor& out,
                         at::Tensor& in,
                         std::vector<int64_t>& out_counts,
                         std::vector<int64_t>& in_counts,
                         const c10d::AllToAllOptions& options) override {
    return inner_->all_to_all_single(out, in, out_counts, in_counts, options);
  }

  Work send(Tensors& tensors, int to, int tag) override { return inner_->send(tensors, to, tag); }

  Work recv(Tensors& tensors, int from, int tag) override {
    return inner_->recv(tensors, from, tag);
  }

  Work barrier(const c10d::BarrierOptions& options) override { return inner_->barrier(options); }

  // ---- made of sends ----

  Work all_gather_single(at::Tensor& out,
                         at::Tensor& in,
                         const c10d::AllgatherOptions& /*options*/) override {
    Tensors outs = {out};
    Tensors ins = {in};
    return all_gather_single_coalesced(outs, ins, {});
  }

  Work all_gather_single_coalesced(Tensors& outs,
                                   Tensors& ins,
                                   const c10d::AllgatherOptions& /*options*/) override {
    return run(outs, ins, [this, outs, ins](int tag) {
      for (size_t i = 0; i < outs.size(); ++i) exchange_all(outs[i].view(-1), ins[i].view(-1), tag);
    });
  }

  Work reduce_scatter_single(at::Tensor& out,
                             at::Tensor& in,
                             const c10d::ReduceScatterOptions& options) override {
    Tensors outs = {out};
    Tensors ins = {in};
    return reduce_scatter_single_coalesced(outs, ins, options);
  }

  Work reduce_scatter_single_coalesced(Tensors& outs,
                                       Tensors& ins,
                                       const c10d::ReduceScatterOptions& options) override {
    const Reduce op = to_reduce(options.reduceOp);
    return run(outs, ins, [this, outs, ins, op](int tag) {
      for (size_t i = 0; i < outs.size(); ++i) add_up(outs[i].view(-1), ins[i].view(-1), op, tag);
    });
  }

  Work gather(std::vector<Tensors>& outs,
              Tensors& ins,
              const c10d::GatherOptions& options) override {
    const auto root = static_cast<int>(options.rootRank);
    const at::Tensor shard = ins.at(0);
    const Tensors parts = getRank() == root ? outs.at(0) : Tensors{};
    return run(parts, ins, [this, root, shard, parts](int tag) {
      if (getRank() != root) {
        wait_all({send_one(shard, root, tag)});
        return;
      }
      std::vector<Work> works;
      for (int rank = 0; rank < getSize(); ++rank) {
        if (rank != root) works.push_back(receive_one(parts[static_cast<size_t>(rank)], rank, tag));
      }
      copy(parts[static_cast<size_t>(root)], shard);
      wait_all(works);
    });
  }

  Work scatter(Tensors& outs,
               std::vector<Tensors>& ins,
               const c10d::ScatterOptions& options) override {
    const auto root = static_cast<int>(options.rootRank);
    const at::Tensor shard = outs.at(0);
    const Tensors parts = getRank() == root ? ins.at(0) : Tensors{};
    return run(parts, outs, [this, root, shard, parts](int tag) {
      if (getRank() != root) {
        wait_all({receive_one(shard, root, tag)});
        return;
      }
      std::vector<Work> works;
      for (int rank = 0; rank < getSize(); ++rank) {
        if (rank != root) works.push_back(send_one(parts[static_cast<size_t>(rank)], rank, tag));
      }
      copy(shard, parts[static_cast<size_t>(root)]);
      wait_all(works);
    });
  }

 private:
  // Queues `body` with a tag of its own; every rank queues the same calls in the same order.
  template <class Body>
  Work run(const Tensors& a, const Tensors& b, Body body) {
    Tensors tensors = a;
    tensors.insert(tensors.end(), b.begin(), b.end());
    const int tag = kFirstTag + static_cast<int>((sequence_++ & kSequenceMask) << kChunkBits);
    return worker_.run(std::move(tensors), [body, tag] { body(tag); });
  }

  Work send_one(const at::Tensor& tensor, int to, int tag) {
    Tensors one = {tensor};
    return inner_->send(one, to, tag);
  }

  Work receive_one(const at::Tensor& tensor, int from, int tag) {
    Tensors one = {tensor};
    return inner_->recv(one, from, tag);
  }

  static void wait_all(const std::vector<Work>& works) {
    for (const Work& work : works) work->wait();
  }

  // memcpy and not copy_(): that would start worker threads of its own, and raises the tensor's
  // version.
  static void copy(const at::Tensor& into, const at::Tensor& from) {
    std::memcpy(into.mutable_data_ptr(), from.const_data_ptr(), into.nbytes());
  }

  // Peers in the order in which this rank talks to them: at every step each rank has another
  // partner.
  [[nodiscard]] int sends_to(int step) const { return (getRank() + step) % getSize(); }
  [[nodiscard]] int hears_from(int step) const {
    return (getRank() - step + getSize()) % getSize();
  }

  void exchange_all(const at::Tensor& out, const at::Tensor& in, int tag) {
    const int64_t count = in.numel();
    if (count == 0) return;
    std::vector<Work> works;
    for (int step = 1; step < getSize(); ++step) {
      works.push_back(receive_one(part(out, hears_from(step), count), hears_from(step), tag));
      works.push_back(send_one(in, sends_to(step), tag));
    }
    const at::Tensor mine = part(out, getRank(), count);
    // In place: the shard is already where it belongs.
    if (mine.data_ptr() != in.data_ptr()) copy(mine, in);
    wait_all(works);
  }

  void add_up(const at::Tensor& out, const at::Tensor& in, Reduce op, int tag);

  // Receive buffers, kept from call to call: fresh ones would cost a page fault for every 4 KiB. They
  // are the backend's own memory, so that tensors take the same over every backend.
  at::Tensor scratch(int64_t elements, const at::Tensor& like) {
    scratch_.hold(static_cast<size_t>(kBuffers * elements * like.element_size()));
    return at::from_blob(scratch_.data(), {kBuffers, elements}, like.options());
  }

  c10::intrusive_ptr<c10d::Backend> inner_;
  unsigned sequence_ = 0;
  Scratch scratch_;       // used by the worker's thread only
  OrderedWorker worker_;  // last: its thread uses the members above
};

// One rank's part of a reduce-scatter, chunk by chunk, while later chunks are on their way.
class PartialSum {
 public:
  PartialSum(const at::Tensor& out, const at::Tensor& own, Reduce op, int size)
      : out_(out), own_(own), op_(op), size_(size), type_(element_of(out)) {}

  void open(int64_t first, int64_t count) {
    first_ = first;
    count_ = count;
    if (is_narrow(type_)) {
      wide_.resize(static_cast<size_t>(count));
      widen(type_, wide_.data(), static_cast<const uint16_t*>(at_first(own_)), count);
    } else if (at_first(out_) != at_first(own_)) {
      std::memcpy(at_first(out_), at_first(own_), static_cast<size_t>(count * out_.element_size()));
    }
  }

  void add(const at::Tensor& received) {
    if (is_narrow(type_)) {
      accumulate_wide(type_, op_, wide_.data(),
                      static_cast<const uint16_t*>(received.const_data_ptr()), count_);
    } else {
      accumulate(type_, op_, at_first(out_), received.const_data_ptr(), count_);
    }
  }

  void close() {
    if (is_narrow(type_)) {
      if (op_ == Reduce::kAvg) divide(Element::kFloat, wide_.data(), size_, count_);
      narrow(type_, static_cast<uint16_t*>(at_first(out_)), wide_.data(), count_);
    } else if (op_ == Reduce::kAvg) {
      divide(type_, at_first(out_), size_, count_);
    }
  }

 private:
  [[nodiscard]] void* at_first(const at::Tensor& tensor) const {
    return static_cast<char*>(tensor.data_ptr()) + first_ * tensor.element_size();
  }

  at::Tensor out_;
  at::Tensor own_;
  Reduce op_;
  int size_;
  Element type_;
  std::vector<float> wide_;
  int64_t first_ = 0;
  int64_t count_ = 0;
};

void PairwiseBackend::add_up(const at::Tensor& out, const at::Tensor& in, Reduce op, int tag) {
  const int64_t total = out.numel();
  if (total == 0) return;
  // As many chunks as tags.
  const int64_t chunk = std::max(kChunkElements, (total >> kChunkBits) + 1);
  const int64_t num_chunks = (total + chunk - 1) / chunk;
  const auto chunk_of = [&](const at::Tensor& whole, int64_t k) {
    return whole.narrow(0, k * chunk, std::min(chunk, total - k * chunk));
  };
  std::vector<Work> sends;
  for (int64_t k = 0; k < num_chunks; ++k) {
    for (int step = 1; step < getSize(); ++step) {
      const at::Tensor theirs = part(in, sends_to(step), total);
      sends.push_back(send_one(chunk_of(theirs, k), sends_to(step), tag + static_cast<int>(k)));
    }
  }
  // Receives are posted a few ahead, in the order they are added up: chunk by chunk, and in each
  // chunk by peer. So the order of the additions is fixed, whoever is faster.
  const int64_t peers = getSize() - 1;
  const at::Tensor buffers = scratch(std::min(chunk, total), out);
  const auto buffer_of = [&](int64_t i) {
    const int64_t k = i / peers;
    return buffers.select(0, i % kBuffers).narrow(0, 0, std::min(chunk, total - k * chunk));
  };
  const auto post = [&](int64_t i) {
    const int from = hears_from(static_cast<int>(i % peers) + 1);
    return receive_one(buffer_of(i), from, tag + static_cast<int>(i / peers));
  };
  std::vector<Work> receives;
  for (int64_t i = 0; i < std::min(kBuffers, num_chunks * peers); ++i) receives.push_back(post(i));
  PartialSum sum(out, part(in, getRank(), total), op, getSize());
  for (int64_t k = 0; k < num_chunks; ++k) {
    sum.open(k * chunk, std::min(chunk, total - k * chunk));
    for (int64_t i = k * peers; i < (k + 1) * peers; ++i) {
      receives[static_cast<size_t>(i % kBuffers)]->wait();
      sum.add(buffer_of(i));
      if (i + kBuffers < num_chunks * peers)
        receives[static_cast<size_t>(i % kBuffers)] = post(i + kBuffers);
    }
    sum.close();
  }
  wait_all(sends);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_pairwise_backend(c10::intrusive_ptr<c10d::Backend> inner,
                                                        const std::string& group,
                                                        ActivityBoard* board) {
  return c10::make_intrusive<PairwiseBackend>(std::move(inner), group, board);
}

}  // namespace shoal::comm
