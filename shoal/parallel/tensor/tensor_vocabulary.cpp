#include "shoal/parallel/tensor/tensor_vocabulary.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/model/functions/recording.h"
#include "shoal/model/functions/wide_type.h"

namespace shoal::parallel {
namespace {

using model::Gradients;
using model::Pass;
using model::Recording;
using model::Targets;
using model::Weight;

// Tokens as rows of this rank's matrix.
struct Located {
  at::Tensor rows;    // an arbitrary row where the token is on another rank
  at::Tensor others;  // true where the token is on another rank
};

Located located(const at::Tensor& tokens, const Weight& weight) {
  const Box& part = weight.spec().parts.front();
  const int64_t count = part.extent[0];
  const at::Tensor rows = tokens - part.begin[0];
  return {.rows = rows.clamp(0, count - 1), .others = rows.lt(0).logical_or_(rows.ge(count))};
}

class VocabularyEmbedding final : public model::Embedding {
 public:
  VocabularyEmbedding(Weight weight, TensorRows rows) : weight_(weight), rows_(std::move(rows)) {}

  at::Tensor forward(const at::Tensor& indices, const at::Tensor& anchor) override {
    const Recording recording({anchor});
    const at::Tensor& matrix = weight_.value();
    const int64_t count = indices.numel();
    const Located tokens = located(indices.reshape({-1}), weight_);
    const at::Tensor room = rows_.room(count, matrix.size(1), matrix.options());
    at::Tensor found = room.narrow(0, 0, count);
    at::index_select_out(found, matrix, 0, tokens.rows);
    found.masked_fill_(tokens.others.unsqueeze(1), 0);
    return recording.finish(
        rows_.sum(room, count, Padding::kLastRow, "embedding of tokens").wait(),
        [tokens, count, weight = weight_, rows = rows_](const at::Tensor& dy) mutable {
          at::Tensor all = rows.gather(dy, count, "gradient of the embedding").wait();
          all.masked_fill_(tokens.others.unsqueeze(1), 0);
          weight.add_gradient_rows(tokens.rows, all);
          return Gradients{at::Tensor()};
        });
  }

  [[nodiscard]] Weight weight() const override { return weight_; }

 private:
  Weight weight_;
  TensorRows rows_;
};

// The numbers that ranks have to agree on, as vectors over rows.
struct RowStatistics {
  at::Tensor largest;
  at::Tensor sums;    // sum of exponentials, relative to the largest
  at::Tensor chosen;  // the target's logit, relative to the largest
};

// The cross-entropy of rows whose logits are split over ranks; each rank calls it with its own.
class SplitCrossEntropy {
 public:
  SplitCrossEntropy(Weight weight, comm::Group group) : weight_(weight), group_(std::move(group)) {}

  at::Tensor operator()(const model::ScoredRows& rows) {
    const Located targets = located(rows.classes, weight_);
    const RowStatistics all = agreed(own_statistics(rows.logits, targets));
    const at::Tensor counts =
        rows.loss_mask.defined() ? rows.loss_mask.to(all.sums) : at::ones_like(all.sums);
    if (rows.gradient_scale.defined())
      become_gradient(rows.logits, targets, all, counts * rows.gradient_scale);
    return (all.sums.log() - all.chosen).mul_(counts).sum();
  }

 private:
  static RowStatistics own_statistics(const at::Tensor& logits, const Located& targets) {
    const at::TensorOptions wide = logits.options().dtype(model::wide_type(logits));
    RowStatistics found = {.largest = at::empty({logits.size(0)}, wide),
                           .sums = at::empty({logits.size(0)}, wide),
                           .chosen = at::empty({logits.size(0)}, wide)};
    by_pieces(logits, [&](const at::Tensor& work, const at::Tensor& /*rows*/, int64_t first) {
      const int64_t count = work.size(0);
      const at::Tensor largest = work.amax(1, /*keepdim=*/true);
      found.largest.narrow(0, first, count).copy_(largest.squeeze(1));
      found.chosen.narrow(0, first, count)
          .copy_(work.gather(1, targets.rows.narrow(0, first, count).unsqueeze(1)).squeeze(1));
      found.sums.narrow(0, first, count).copy_(work.sub_(largest).exp_().sum(1));
    });
    found.chosen.masked_fill_(targets.others, 0);
    return found;
  }

  // Returns the statistics over all ranks, from those of each rank.
  RowStatistics agreed(const RowStatistics& own) {
    RowStatistics all = {.largest = own.largest.clone()};
    group_.all_reduce(all.largest, comm::Reduce::kMax, "largest logits").wait();
    const at::Tensor sums = at::stack({own.sums * (own.largest - all.largest).exp(), own.chosen});
    group_.all_reduce(sums, comm::Reduce::kSum, "sums of exponentials").wait();
    all.sums = sums[0];
    all.chosen = sums[1] - all.largest;
    return all;
  }

  static void become_gradient(const at::Tensor& logits,
                              const Located& targets,
                              const RowStatistics& all,
                              const at::Tensor& counts) {
    const at::Tensor factors = counts / all.sums;
    const at::Tensor minus_one = counts.neg().masked_fill_(targets.others, 0);
    by_pieces(logits, [&](const at::Tensor& work, const at::Tensor& rows, int64_t first) {
      const auto piece = [&](const at::Tensor& each) {
        return each.narrow(0, first, work.size(0)).unsqueeze(1);
      };
      work.sub_(piece(all.largest)).exp_().mul_(piece(factors));
      work.scatter_add_(1, piece(targets.rows), piece(minus_one));
      rows.copy_(work);
    });
  }

  // Calls `function` with a copy of some rows in a wider type, these rows, and the index of the
  // first.
  template <class Function>
  static void by_pieces(const at::Tensor& logits, const Function& function) {
    const int64_t step = model::rows_in_cache(logits);
    const at::Tensor buffer =
        at::empty({step, logits.size(1)}, logits.options().dtype(model::wide_type(logits)));
    for (int64_t first = 0; first < logits.size(0); first += step) {
      const int64_t count = std::min(step, logits.size(0) - first);
      const at::Tensor rows = logits.narrow(0, first, count);
      function(buffer.narrow(0, 0, count).copy_(rows), rows, first);
    }
  }

  Weight weight_;
  comm::Group group_;
};

class VocabularyHead final : public model::Head {
 public:
  VocabularyHead(Weight weight, int64_t rows_at_once, TensorRows rows)
      : weight_(weight), rows_at_once_(rows_at_once), rows_(std::move(rows)) {}

  at::Tensor logits(const at::Tensor& x, const Pass& pass) override {
    const at::NoGradGuard no_grad;
    at::Tensor all = rows_.gather(x, pass.tokens.numel(), "input of the head").wait();
    all = all.view({pass.tokens.size(0), pass.tokens.size(1), all.size(1)});
    all = all.narrow(1, pass.first_logit, all.size(1) - pass.first_logit);
    const at::Tensor own = at::mm(all.reshape({-1, all.size(2)}), weight_.value().t());
    return of_all_ranks(own).view({all.size(0), all.size(1), weight_.spec().shape[0]});
  }

  at::Tensor loss(const at::Tensor& x, const Targets& targets) override {
    const Recording recording({x});
    const int64_t count = targets.classes.numel();
    const at::Tensor all = rows_.gather(x, count, "input of the head").wait();
    const model::LossOfRows found =
        model::loss_of_rows(all, weight_, targets, rows_at_once_, recording.wanted(),
                            SplitCrossEntropy(weight_, rows_.group()));
    at::Tensor dx;
    if (found.dx.defined()) {
      const at::Tensor room = rows_.room(count, x.size(1), x.options());
      room.narrow(0, 0, count).copy_(found.dx);
      dx = rows_.sum(room, count, Padding::kZeros, "gradient of the head's input").wait();
    }
    return recording.finish(found.loss, [dx](const at::Tensor& /*one*/) { return Gradients{dx}; });
  }

 private:
  // Gathers rows x this rank's classes to rows x classes.
  at::Tensor of_all_ranks(const at::Tensor& own) {
    const int64_t classes = weight_.spec().shape[0];
    comm::Group& group = rows_.group();
    const at::Tensor sent =
        at::zeros({own.size(0), blueprint::largest_share(classes, group.size())}, own.options());
    sent.narrow(1, 0, own.size(1)).copy_(own);
    const at::Tensor all = at::empty({group.size(), sent.size(0), sent.size(1)}, own.options());
    group.all_gather(all, sent, "logits").wait();
    std::vector<at::Tensor> parts;
    for (int rank = 0; rank < group.size(); ++rank)
      parts.push_back(all[rank].narrow(
          1, 0, blueprint::share_of(classes, {.ranks = group.size(), .rank = rank}).count));
    return at::cat(parts, 1);
  }

  Weight weight_;
  int64_t rows_at_once_;
  TensorRows rows_;
};

}  // namespace

std::unique_ptr<model::Embedding> vocabulary_embedding(Weight weight, const TensorRows& rows) {
  return std::make_unique<VocabularyEmbedding>(weight, rows);
}

std::unique_ptr<model::Head> vocabulary_head(Weight weight,
                                             int64_t rows_at_once,
                                             const TensorRows& rows) {
  return std::make_unique<VocabularyHead>(weight, rows_at_once, rows);
}

}  // namespace shoal::parallel
