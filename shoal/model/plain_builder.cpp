#include <ATen/ATen.h>

#include "shoal/core/random.h"
#include "shoal/model/builder.h"
#include "shoal/model/functions/dropout.h"
#include "shoal/model/functions/linear.h"

namespace shoal::model {
namespace {

class PlainLinear final : public Linear {
 public:
  PlainLinear(Weight weight, Weight bias, bool again)
      : weight_(weight), bias_(bias), again_(again) {}

  at::Tensor forward(const at::Tensor& x, const Pass& /*pass*/) override {
    return linear(x, weight_, bias_);
  }

  at::Tensor forward(const RowWise& before, const at::Tensor& x, const Pass& /*pass*/) override {
    return again_ ? linear_of(before, x, weight_, bias_) : linear(before(x), weight_, bias_);
  }

 private:
  Weight weight_;
  Weight bias_;
  bool again_;
};

class PlainEmbedding final : public Embedding {
 public:
  explicit PlainEmbedding(Weight weight) : weight_(weight) {}

  at::Tensor forward(const at::Tensor& indices, const at::Tensor& anchor) override {
    return embedding(indices, weight_, anchor);
  }

  [[nodiscard]] Weight weight() const override { return weight_; }

 private:
  Weight weight_;
};

class FusedAttention final : public Attention {
 public:
  at::Tensor forward(const at::Tensor& q,
                     const at::Tensor& k,
                     const at::Tensor& v,
                     const Pass& pass) override {
    return attention(q, k, v, pass.documents);
  }
};

class AttentionWithDropout final : public Attention {
 public:
  AttentionWithDropout(const AttentionSpec& spec, int first_head, uint64_t seed)
      : rate_(spec.dropout),
        heads_(spec.heads),
        first_head_(first_head),
        random_(seed, RandomStream::kDropout, spec.name) {}

  at::Tensor forward(const at::Tensor& q,
                     const at::Tensor& k,
                     const at::Tensor& v,
                     const Pass& pass) override {
    if (!pass.training) return attention(q, k, v, pass.documents);
    return plain_attention(q, k, v, pass.documents,
                           {.rate = rate_,
                            .random = &random_,
                            .first_row = pass.first_row,
                            .first_head = first_head_,
                            .heads = heads_});
  }

 private:
  double rate_;
  int64_t heads_;
  int64_t first_head_;
  Random random_;
};

class PlainDropout final : public Dropout {
 public:
  PlainDropout(const std::string& name, double rate, uint64_t seed)
      : rate_(rate), random_(seed, RandomStream::kDropout, name) {}

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    if (!pass.training) return x;
    const auto elements_of_row = static_cast<uint64_t>(x.numel() / x.size(0));
    return dropout(x, rate_, random_, pass.first_row * elements_of_row);
  }

 private:
  double rate_;
  Random random_;
};

class AllRows final : public RowShare {
 public:
  [[nodiscard]] at::Tensor of(const at::Tensor& each, const Pass& /*pass*/) const override {
    return each;
  }
};

class PlainHead final : public Head {
 public:
  PlainHead(Weight weight, int64_t rows_at_once) : weight_(weight), rows_at_once_(rows_at_once) {}

  at::Tensor logits(const at::Tensor& x, const Pass& pass) override {
    return linear(x.narrow(1, pass.first_logit, x.size(1) - pass.first_logit), weight_, {});
  }

  at::Tensor loss(const at::Tensor& x, const Targets& targets) override {
    return head_loss(x, weight_, targets, rows_at_once_);
  }

 private:
  Weight weight_;
  int64_t rows_at_once_;
};

}  // namespace

std::unique_ptr<Linear> PlainBuilder::linear(UnitWeights& unit, const LinearSpec& spec) {
  return std::make_unique<PlainLinear>(unit.named(spec.weight()),
                                       spec.bias ? unit.named(spec.bias_name()) : Weight(),
                                       options_.recompute == config::Recompute::kSelective);
}

std::unique_ptr<RowWise> PlainBuilder::norm(UnitWeights& unit, const NormSpec& spec) {
  const Weight weight = spec.has_weight() ? unit.named(spec.weight()) : Weight();
  if (spec.kind == config::NormKind::kRms) return rms_norm(weight, spec.epsilon);
  return layer_norm(weight, spec.has_bias() ? unit.named(spec.bias_name()) : Weight(),
                    spec.epsilon);
}

std::unique_ptr<RowWise> PlainBuilder::activation(config::Activation kind) {
  return model::activation(kind);
}

std::unique_ptr<Embedding> PlainBuilder::embedding(UnitWeights& unit, const EmbeddingSpec& spec) {
  return std::make_unique<PlainEmbedding>(unit.named(spec.weight()));
}

std::unique_ptr<Attention> PlainBuilder::attention(const AttentionSpec& spec) {
  if (spec.dropout > 0) {
    const int first_head = blueprint::local_heads(spec.heads, spec.kv_heads, place()).first_head;
    return std::make_unique<AttentionWithDropout>(spec, first_head, options_.seed);
  }
  return std::make_unique<FusedAttention>();
}

std::unique_ptr<Dropout> PlainBuilder::dropout(const std::string& name, double rate) {
  return std::make_unique<PlainDropout>(name, rate, options_.seed);
}

std::unique_ptr<RowShare> PlainBuilder::row_share() { return std::make_unique<AllRows>(); }

std::unique_ptr<Head> PlainBuilder::head(UnitWeights& unit, const EmbeddingSpec& spec) {
  return std::make_unique<PlainHead>(unit.named(spec.weight()), options_.head_rows_at_once);
}

std::unique_ptr<Head> PlainBuilder::tied_head(const Embedding& embedding) {
  return std::make_unique<PlainHead>(embedding.weight(), options_.head_rows_at_once);
}

}  // namespace shoal::model
