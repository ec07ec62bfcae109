// fsdp -- fully sharded data parallelism (ZeRO-3): a rank keeps a shard of each layer, and has the whole layer only while
// it computes with it.
//
//   shoal launch --ranks 3 -- build/release/examples/mlp fsdp

#include "shoal/core/format.h"

#include "programs.h"
#include "worked_example.h"

namespace mlp {
namespace {

// A layer, flat and cut into shards of one length; the last ones end in padding where that does not come out even.
class ShardedLayer {
 public:
  ShardedLayer(const at::Tensor& whole, shoal::comm::Group ranks)
      : ranks_(std::move(ranks)),
        shape_(whole.sizes().vec()),
        length_((whole.numel() + ranks_.size() - 1) / ranks_.size()),
        shard_(padded(whole).narrow(0, ranks_.rank() * length_, length_).clone()) {}

  [[nodiscard]] at::Tensor shard() const { return shard_; }
  void set_shard(at::Tensor shard) { shard_ = std::move(shard); }

  // Returns the whole layer, which is freed when the caller drops it.
  [[nodiscard]] at::Tensor gather() {
    const at::Tensor flat = at::empty({length_ * ranks_.size()}, at::kDouble);
    ranks_.all_gather(flat, shard_, "weights").wait();
    return flat.narrow(0, 0, c10::multiply_integers(shape_)).view(shape_);
  }

  // Returns this rank's shard of the sum over all ranks.
  [[nodiscard]] at::Tensor reduce_scatter(const at::Tensor& gradient) {
    const at::Tensor sum = at::empty({length_}, at::kDouble);
    ranks_.reduce_scatter(sum, padded(gradient), shoal::comm::Reduce::kSum, "gradients").wait();
    return sum;
  }

 private:
  [[nodiscard]] at::Tensor padded(const at::Tensor& whole) const {
    return at::constant_pad_nd(whole.flatten(), {0, length_ * ranks_.size() - whole.numel()});
  }

  shoal::comm::Group ranks_;
  std::vector<int64_t> shape_;
  int64_t length_;  // elements of a shard
  at::Tensor shard_;
};

}  // namespace

bool fsdp(shoal::comm::World& world, shoal::comm::Group ranks) {
  // Each rank has a part of the batch, as in ddp.cpp, and shards of both layers.
  const auto [begin, end] = part_of(tokens().size(0), ranks);
  const at::Tensor x = tokens().slice(0, begin, end);
  ShardedLayer a(up(), ranks);
  ShardedLayer b(down(), ranks);

  // Forward: gather a layer, use it, drop it. The derivatives are written out here, because autograd would keep whole
  // layers for the backward pass.
  const at::Tensor hidden = at::relu(x.matmul(a.gather()));
  at::Tensor whole_b = b.gather();
  const at::Tensor dy = hidden.matmul(whole_b) - targets().slice(0, begin, end);

  // Backward, from the last layer, which is still here. Each gradient goes to its shards as soon as it is there. A is
  // not gathered again, as it would be if there were layers below that need the gradient of x.
  const at::Tensor sum_of_db = b.reduce_scatter(hidden.t().matmul(dy));
  const at::Tensor dhidden = dy.matmul(whole_b.t()) * (hidden > 0);
  whole_b.reset();
  const at::Tensor sum_of_da = a.reduce_scatter(x.t().matmul(dhidden));

  // The optimizer sees shards alone, so that its moments, if it had some, would be sharded as well.
  const int64_t count = tokens().size(0);
  a.set_shard(updated(a.shard(), sum_of_da / count));
  b.set_shard(updated(b.shard(), sum_of_db / count));

  print_all(world, shoal::format("rank {}, tokens [{}, {})\n", ranks.rank(), begin, end) +
                       shown("shard of A", a.shard().unsqueeze(0)) +
                       shown("shard of B", b.shard().unsqueeze(0)));
  const Step expected = step_of_one_process();
  return agree("fsdp", ranks, {{a.gather(), expected.a}, {b.gather(), expected.b}});
}

}  // namespace mlp
