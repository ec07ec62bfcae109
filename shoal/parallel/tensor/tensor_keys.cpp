#include "shoal/parallel/tensor/tensor_keys.h"

#include <vector>

#include <ATen/ATen.h>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/model/functions/recording.h"

namespace shoal::parallel {
namespace {

// Tensors that ranks exchange are padded to the largest share, as rows x outputs x features.
class HeadExchange {
 public:
  HeadExchange(const blueprint::Features& heads, int64_t outputs, comm::Group group)
      : heads_(heads),
        outputs_(outputs),
        group_(std::move(group)),
        width_(blueprint::largest_share(heads.size(), group_.size())) {}

  // Returns how many features of each output this rank has.
  [[nodiscard]] int64_t share() const { return share_of(group_.rank()); }

  // Gathers rows x outputs * share to rows x outputs * head.
  at::Tensor gather(const at::Tensor& shares) {
    const int64_t rows = shares.size(0);
    const at::Tensor sent = at::zeros({rows, outputs_, width_}, shares.options());
    sent.narrow(2, 0, share()).copy_(shares.view({rows, outputs_, share()}));
    const at::Tensor all = at::empty({group_.size(), rows, outputs_, width_}, shares.options());
    group_.all_gather(all, sent, "keys and values").wait();
    std::vector<at::Tensor> pieces;
    for (int rank = first_rank(); rank < first_rank() + ranks_of_head(); ++rank)
      pieces.push_back(all[rank].narrow(2, 0, share_of(rank)));
    return at::cat(pieces, 2).view({rows, outputs_ * heads_.width});
  }

  // The backward of gather(): reduce-scatters the gradients of a shared head to that of this rank's
  // share.
  at::Tensor scatter(const at::Tensor& dheads) {
    const int64_t rows = dheads.size(0);
    const at::Tensor by_output = dheads.reshape({rows, outputs_, heads_.width});
    const at::Tensor all = at::zeros({group_.size(), rows, outputs_, width_}, dheads.options());
    int64_t begin = 0;
    for (int rank = first_rank(); rank < first_rank() + ranks_of_head(); ++rank) {
      all[rank].narrow(2, 0, share_of(rank)).copy_(by_output.narrow(2, begin, share_of(rank)));
      begin += share_of(rank);
    }
    const at::Tensor sum = at::empty({rows, outputs_, width_}, dheads.options());
    group_.reduce_scatter(sum, all, comm::Reduce::kSum, "gradients of keys and values").wait();
    return sum.narrow(2, 0, share()).reshape({rows, outputs_ * share()});
  }

 private:
  [[nodiscard]] int64_t share_of(int rank) const {
    return blueprint::share_of(heads_.size(), {.ranks = group_.size(), .rank = rank}).count;
  }

  // The ranks that need this rank's head are those that have its features, because the number of
  // heads divides the number of ranks.
  [[nodiscard]] int ranks_of_head() const { return static_cast<int>(group_.size() / heads_.count); }
  [[nodiscard]] int first_rank() const { return group_.rank() / ranks_of_head() * ranks_of_head(); }

  blueprint::Features heads_;
  int64_t outputs_;
  comm::Group group_;
  int64_t width_;
};

}  // namespace

at::Tensor with_whole_heads(const at::Tensor& x,
                            const blueprint::Features& heads,
                            int64_t outputs,
                            const comm::Group& group) {
  const model::Recording recording({x});
  HeadExchange exchange(heads, outputs, group);
  const int64_t shares = outputs * exchange.share();
  const int64_t staying = x.size(1) - shares;
  const at::Tensor whole = exchange.gather(x.narrow(1, staying, shares).contiguous());
  return recording.finish(
      at::cat({x.narrow(1, 0, staying), whole}, 1),
      [exchange, staying](const at::Tensor& gradient) mutable {
        const int64_t rest = gradient.size(1) - staying;
        return model::Gradients{at::cat(
            {gradient.narrow(1, 0, staying), exchange.scatter(gradient.narrow(1, staying, rest))},
            1)};
      });
}

}  // namespace shoal::parallel
