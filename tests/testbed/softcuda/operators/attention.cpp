#include "attention.h"

#include <cmath>
#include <functional>
#include <limits>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "softcuda.h"
#include "tensors.h"

namespace softcuda {
namespace {

// A document among packed ones, or a row of a batch: then its tokens are all of the row's.
struct Document {
  int64_t q_begin, q_end, k_begin, k_end;
  int64_t row = -1;   // in a batch; -1 among packed documents
  at::Tensor hidden;  // positions that a causal mask hides; undefined without one

  // tokens x heads x features
  [[nodiscard]] at::Tensor queries(const at::Tensor& x) const {
    return row < 0 ? x.slice(0, q_begin, q_end) : x.select(0, row);
  }
  [[nodiscard]] at::Tensor keys(const at::Tensor& x) const {
    return row < 0 ? x.slice(0, k_begin, k_end) : x.select(0, row);
  }
  // heads x tokens
  [[nodiscard]] at::Tensor logsumexp(const at::Tensor& x) const {
    return row < 0 ? x.slice(1, q_begin, q_end) : x.select(0, row);
  }
};

// Whether the operator was given where packed documents begin, and not a batch of rows.
bool is_packed(const std::optional<at::Tensor>& begins) { return begins && begins->defined(); }

// The refusals of libtorch's own kernels (mha_fwd and mha_varlen_fwd).
void check(const at::Tensor& q,
           const at::Tensor& k,
           const at::Tensor& v,
           const std::optional<at::Tensor>& begins_q,
           const std::optional<at::Tensor>& begins_k) {
  const auto* gpu = at::cuda::getDeviceProperties(q.device().index());
  TORCH_CHECK(gpu->major >= 8, "FlashAttention only supports Ampere GPUs or newer.");
  TORCH_CHECK(q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16,
              "FlashAttention only support fp16 and bf16 data type");
  TORCH_CHECK(q.scalar_type() == k.scalar_type(), "query and key must have the same dtype");
  TORCH_CHECK(q.scalar_type() == v.scalar_type(), "query and value must have the same dtype");
  TORCH_CHECK(is_packed(begins_q) == is_packed(begins_k),
              "cum_seq_q and cum_seq_k must be both set or both not set");
  const int64_t dimensions = is_packed(begins_q) ? 3 : 4;
  TORCH_CHECK(q.dim() == dimensions && k.dim() == dimensions, "softcuda: flash attention of ",
              is_packed(begins_q) ? "packed documents" : "a batch", " takes ", dimensions,
              " dimensions");
  TORCH_CHECK(q.stride(-1) == 1 && k.stride(-1) == 1 && v.stride(-1) == 1,
              "Input tensor must have contiguous last dimension");
  TORCH_CHECK(q.size(-1) <= 256, "FlashAttention forward only supports head dimension at most 256");
  TORCH_CHECK(q.size(-1) % 8 == 0,
              "head_size must be a multiple of 8, this is ensured by padding!");
  TORCH_CHECK(q.size(-2) % k.size(-2) == 0,
              "Number of heads in key/value must divide number of heads in query");
  TORCH_CHECK(k.device() == q.device(), "softcuda: attention on ", k.device(), " and ", q.device());
  if (!is_packed(begins_q)) return;
  for (const at::Tensor& t : {*begins_q, *begins_k}) {
    TORCH_CHECK(t.scalar_type() == at::kInt, "cu_seqlens must have dtype int32");
    TORCH_CHECK(t.device() == q.device(), "softcuda: attention on ", t.device(), " and ",
                q.device());
  }
}

// heads x tokens x features in float32, each head as often as queries share it.
at::Tensor heads_first(const at::Tensor& x, int64_t repeat) {
  return x.transpose(0, 1).to(at::kFloat).repeat_interleave(repeat, 0);
}

// The last query sees the last key.
at::Tensor hidden_of(int64_t queries, int64_t keys, bool causal) {
  return causal ? at::ones({queries, keys}, at::kBool).triu(keys - queries + 1) : at::Tensor();
}

void each_document(const at::Tensor& q,
                   const at::Tensor& k,
                   const std::optional<Seen>& begins_q,
                   const std::optional<Seen>& begins_k,
                   bool causal,
                   const std::function<void(const Document&)>& visit) {
  if (!begins_q) {
    for (int64_t row = 0; row < q.size(0); ++row)
      visit({0, q.size(1), 0, k.size(1), row, hidden_of(q.size(1), k.size(1), causal)});
    return;
  }
  const at::Tensor all_q = begins_q->cpu(), all_k = begins_k->cpu();
  const int* at_q = all_q.const_data_ptr<int>();
  const int* at_k = all_k.const_data_ptr<int>();
  for (int64_t i = 0; i + 1 < all_q.numel(); ++i) {
    const int64_t queries = at_q[i + 1] - at_q[i], keys = at_k[i + 1] - at_k[i];
    TORCH_CHECK(0 <= at_q[i] && queries >= 0 && at_q[i + 1] <= q.size(0),
                "cu_seqlens is out of range");
    if (queries > 0)
      visit({at_q[i], at_q[i + 1], at_k[i], at_k[i + 1], -1, hidden_of(queries, keys, causal)});
  }
}

at::Tensor scores(const at::Tensor& q,
                  const at::Tensor& k,
                  double scale,
                  const at::Tensor& hidden) {
  at::Tensor s = at::bmm(q, k.transpose(1, 2)) * scale;
  if (hidden.defined()) s.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  return s;
}

struct Forward {
  Seen q, k, v;
  std::optional<Seen> begins_q, begins_k;
  Seen out, logsumexp;
  bool causal;
  double scale;

  void operator()() const {
    const at::Tensor Q = q.cpu(), K = k.cpu(), V = v.cpu(), O = out.cpu(), L = logsumexp.cpu();
    const int64_t repeat = Q.size(-2) / K.size(-2);
    each_document(Q, K, begins_q, begins_k, causal, [&](const Document& d) {
      const at::Tensor s =
          scores(heads_first(d.queries(Q), 1), heads_first(d.keys(K), repeat), scale, d.hidden);
      const at::Tensor l = at::logsumexp(s, {2});
      d.logsumexp(L).copy_(l);
      const at::Tensor mixed = at::bmm(at::exp(s - l.unsqueeze(2)), heads_first(d.keys(V), repeat));
      d.queries(O).copy_(mixed.transpose(0, 1));
    });
  }
};

struct Backward {
  Seen gradient, q, k, v, out, logsumexp;
  std::optional<Seen> begins_q, begins_k;
  Seen dq, dk, dv;
  bool causal;
  double scale;

  void operator()() const {
    const at::Tensor Q = q.cpu(), K = k.cpu();
    const int64_t groups = K.size(-2), repeat = Q.size(-2) / groups;
    each_document(Q, K, begins_q, begins_k, causal, [&](const Document& d) {
      const auto query_side = [&](const Seen& x) { return heads_first(d.queries(x.cpu()), 1); };
      const auto key_side = [&](const Seen& x) { return heads_first(d.keys(x.cpu()), repeat); };
      // Keys and values get the sum over the queries' heads that share them.
      const auto to_keys = [&](const Seen& to, const at::Tensor& x) {
        const at::Tensor sum = x.view({groups, repeat, x.size(1), x.size(2)}).sum(1);
        d.keys(to.cpu()).copy_(sum.transpose(0, 1));
      };
      const at::Tensor Qd = query_side(q), Kd = key_side(k), Vd = key_side(v);
      const at::Tensor Gd = query_side(gradient), Od = query_side(out);
      const at::Tensor l = d.logsumexp(logsumexp.cpu()).unsqueeze(2);
      const at::Tensor p = at::exp(scores(Qd, Kd, scale, d.hidden) - l);
      const at::Tensor dp = at::bmm(Gd, Vd.transpose(1, 2)) - (Gd * Od).sum(2, true);
      const at::Tensor ds = p * dp * scale;
      d.queries(dq.cpu()).copy_(at::bmm(ds, Kd).transpose(0, 1));
      to_keys(dk, at::bmm(ds.transpose(1, 2), Qd));
      to_keys(dv, at::bmm(p.transpose(1, 2), Gd));
    });
  }
};

// What a launch reads of the documents' borders, and where its task finds them.
std::optional<Seen> seen(const std::optional<at::Tensor>& begins) {
  return is_packed(begins) ? std::optional<Seen>(std::in_place, *begins) : std::nullopt;
}

template <class Ranges>
void add_borders(Ranges& ranges,
                 const std::optional<at::Tensor>& begins_q,
                 const std::optional<at::Tensor>& begins_k) {
  if (!is_packed(begins_q)) return;
  ranges.push_back(range_of(*begins_q, false, "cum_seq_q"));
  ranges.push_back(range_of(*begins_k, false, "cum_seq_k"));
}

double scale_of(const std::optional<double>& given, const at::Tensor& q) {
  return given.value_or(1.0 / std::sqrt(double(q.size(-1))));
}

}  // namespace

FiveTensors flash_attention_forward(const at::Tensor& q,
                                    const at::Tensor& k,
                                    const at::Tensor& v,
                                    const std::optional<at::Tensor>& begins_q,
                                    const std::optional<at::Tensor>& begins_k,
                                    int64_t,
                                    int64_t,
                                    double dropout,
                                    bool causal,
                                    bool,
                                    std::optional<double> scale,
                                    std::optional<int64_t> window_left,
                                    std::optional<int64_t> window_right,
                                    const std::optional<at::Tensor>&,
                                    const std::optional<at::Tensor>&,
                                    const std::optional<at::Tensor>&,
                                    std::optional<int64_t>) {
  TORCH_CHECK(dropout == 0, "softcuda: flash attention has no double with dropout");
  TORCH_CHECK(window_left.value_or(-1) < 0 && window_right.value_or(-1) < 0,
              "softcuda: flash attention has no double with a window");
  check(q, k, v, begins_q, begins_k);
  const c10::cuda::CUDAGuard guard(q.device());
  const auto of_type = [&](at::ScalarType type) { return q.options().dtype(type); };
  at::Tensor out = at::empty_like(q);
  at::Tensor logsumexp = is_packed(begins_q)
                             ? at::empty({q.size(1), q.size(0)}, of_type(at::kFloat))
                             : at::empty({q.size(0), q.size(2), q.size(1)}, of_type(at::kFloat));
  at::Tensor seed = at::empty({2}, of_type(at::kUInt64)),
             unused = at::empty({}, of_type(at::kUInt64));
  softcudaCountLaunches("aten::_flash_attention_forward", 1);
  std::vector ranges = {range_of(q, false, "query"), range_of(k, false, "key"),
                        range_of(v, false, "value"), range_of(out, true, "the result"),
                        range_of(logsumexp, true, "the result's logsumexp")};
  add_borders(ranges, begins_q, begins_k);
  launch(c10::cuda::getCurrentCUDAStream(), "aten::_flash_attention_forward", ranges,
         Forward{Seen(q), Seen(k), Seen(v), seen(begins_q), seen(begins_k), Seen(out),
                 Seen(logsumexp), causal, scale_of(scale, q)});
  return {out, logsumexp, seed, unused, at::empty({0}, q.options())};
}

ThreeTensors flash_attention_backward(const at::Tensor& gradient,
                                      const at::Tensor& q,
                                      const at::Tensor& k,
                                      const at::Tensor& v,
                                      const at::Tensor& out,
                                      const at::Tensor& logsumexp,
                                      const at::Tensor& begins_q,
                                      const at::Tensor& begins_k,
                                      int64_t,
                                      int64_t,
                                      double dropout,
                                      bool causal,
                                      const at::Tensor&,
                                      const at::Tensor&,
                                      std::optional<double> scale,
                                      std::optional<int64_t>,
                                      std::optional<int64_t>) {
  TORCH_CHECK(dropout == 0, "softcuda: flash attention has no double with dropout");
  check(q, k, v, begins_q, begins_k);
  const c10::cuda::CUDAGuard guard(q.device());
  at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
  // The real one has three: a row sum, the products, and a conversion.
  softcudaCountLaunches("aten::_flash_attention_backward", 3);
  std::vector ranges = {range_of(gradient, false, "grad_out"),
                        range_of(q, false, "query"),
                        range_of(k, false, "key"),
                        range_of(v, false, "value"),
                        range_of(out, false, "out"),
                        range_of(logsumexp, false, "logsumexp"),
                        range_of(dq, true, "the query's gradient"),
                        range_of(dk, true, "the key's gradient"),
                        range_of(dv, true, "the value's gradient")};
  add_borders(ranges, begins_q, begins_k);
  launch(c10::cuda::getCurrentCUDAStream(), "aten::_flash_attention_backward", ranges,
         Backward{Seen(gradient), Seen(q), Seen(k), Seen(v), Seen(out), Seen(logsumexp),
                  seen(begins_q), seen(begins_k), Seen(dq), Seen(dk), Seen(dv), causal,
                  scale_of(scale, q)});
  return {dq, dk, dv};
}

}  // namespace softcuda
