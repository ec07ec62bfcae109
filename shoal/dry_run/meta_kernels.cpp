#include "shoal/dry_run/meta_kernels.h"

#include <algorithm>
#include <tuple>

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MetaFunctions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/node.h>
#include <torch/library.h>

namespace shoal::dry_run {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

at::ScalarType wide_type(const Tensor& x) {
  return at::isReducedFloatingType(x.scalar_type()) ? at::kFloat : x.scalar_type();
}

// ---- norms ----

int64_t rows_of(const Tensor& x, at::IntArrayRef normalized) {
  return x.numel() / std::max<int64_t>(1, c10::multiply_integers(normalized));
}

std::vector<int64_t> shape_of_means(const Tensor& x, at::IntArrayRef normalized) {
  std::vector<int64_t> shape = x.sizes().vec();
  std::fill(shape.end() - static_cast<ptrdiff_t>(normalized.size()), shape.end(), 1);
  return shape;
}

std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& x,
                                              at::IntArrayRef normalized,
                                              const MaybeTensor& /*weight*/,
                                              const MaybeTensor& /*bias*/,
                                              double /*epsilon*/) {
  Tensor output = at::empty_like(x);
  const std::vector<int64_t> shape = shape_of_means(x, normalized);
  Tensor mean = at::empty(shape, x.options());
  Tensor scale = at::empty(shape, x.options());
  return {output, mean, scale};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& /*gradient*/,
                                                       const Tensor& x,
                                                       at::IntArrayRef normalized,
                                                       const Tensor& /*mean*/,
                                                       const Tensor& /*scale*/,
                                                       const MaybeTensor& weight,
                                                       const MaybeTensor& bias,
                                                       std::array<bool, 3> wanted) {
  Tensor dx = wanted[0] ? at::empty_like(x) : Tensor();
  Tensor dweight = wanted[1] ? at::empty_like(*weight) : Tensor();
  Tensor dbias = wanted[2] ? at::empty_like(*bias) : Tensor();
  if (rows_of(x, normalized) > 0 && (wanted[1] || wanted[2]))  // sums of each thread
    at::empty({2, at::get_num_threads(), c10::multiply_integers(normalized)}, x.options());
  return {dx, dweight, dbias};
}

// ---- attention: batch x heads x tokens x features ----

// The rows of queries and keys that a thread works on at a time.
struct Tile {
  int64_t queries;
  int64_t keys;
};

Tile tile_of(int64_t queries, int64_t keys) {
  const int64_t rows = queries >= 768 ? 256 : queries >= 192 ? 64 : 32;
  return {.queries = std::min(rows, queries), .keys = std::min<int64_t>(512, keys)};
}

Tensor empty_by_token(const Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

std::tuple<Tensor, Tensor> flash_attention(const Tensor& q,
                                           const Tensor& k,
                                           const Tensor& /*v*/,
                                           double /*dropout*/,
                                           bool /*causal*/,
                                           const MaybeTensor& /*mask*/,
                                           std::optional<double> /*scale*/) {
  const at::TensorOptions wide = q.options().dtype(wide_type(q));
  Tensor output = empty_by_token(q);
  Tensor log_sum_exp = at::empty({q.size(0), q.size(2), q.size(1)}, wide).transpose(1, 2);
  const Tile tile = tile_of(q.size(2), k.size(2));
  const int64_t threads = at::get_num_threads();
  // Scores, their largest and sum, and the output.
  const Tensor work = at::empty({threads, tile.queries * (tile.keys + 2 + q.size(3))}, wide);
  const bool narrow = wide_type(q) != q.scalar_type();
  const Tensor narrowed = at::empty({threads, tile.queries, narrow ? tile.keys : 0}, q.options());
  return {output, log_sum_exp};
}

std::tuple<Tensor, Tensor, Tensor> flash_attention_backward(const Tensor& gradient,
                                                            const Tensor& q,
                                                            const Tensor& k,
                                                            const Tensor& v,
                                                            const Tensor& /*output*/,
                                                            const Tensor& /*log_sum_exp*/,
                                                            double /*dropout*/,
                                                            bool /*causal*/,
                                                            const MaybeTensor& /*mask*/,
                                                            std::optional<double> /*scale*/) {
  const at::TensorOptions wide = q.options().dtype(wide_type(q));
  Tensor dq = empty_by_token(q);
  Tensor dk = empty_by_token(k);
  Tensor dv = empty_by_token(v);
  const Tensor by_token = gradient.transpose(1, 2).contiguous();
  const Tile tile = tile_of(q.size(2), k.size(2));
  const int64_t threads = at::get_num_threads();
  // Scores and their gradients.
  const int64_t scores = 2 * tile.queries * tile.keys;
  const Tensor work = at::empty({threads, scores}, wide);
  const bool narrow = wide_type(q) != q.scalar_type();
  const Tensor narrowed = at::empty({threads, narrow ? scores : 0}, q.options());
  const Tensor sums =  // on each thread that has a head to work on
      at::empty({std::min(threads, q.size(0) * q.size(1)), tile.queries}, wide);
  return {dq, dk, dv};
}

// ---- elements and rows ----

// Gives `out` this shape. What resize_() adds to a tensor on the meta device is not allocated, and
// would not be counted.
Tensor& allocated(Tensor& out, at::IntArrayRef shape) {
  out.resize_(shape);
  c10::StorageImpl* const storage = out.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(storage->allocator()->allocate(storage->nbytes()));
  return out;
}

Tensor& index_select_out(const Tensor& x, int64_t dim, const Tensor& index, Tensor& out) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape[static_cast<size_t>(at::maybe_wrap_dim(dim, x.dim()))] = index.numel();
  return out.sizes() == shape ? out : allocated(out, shape);
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  Tensor out = at::empty({0}, x.options());
  return index_select_out(x, dim, index, out);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const std::vector<int64_t> shape =
      at::infer_size(condition.sizes(), at::infer_size(a.sizes(), b.sizes()));
  return at::empty(shape, a.options().dtype(at::result_type(a, b)));
}

Tensor& unary_out(const Tensor& x, Tensor& out) {
  return out.sizes() == x.sizes() ? out : allocated(out, x.sizes());
}

Tensor& binary_out(const Tensor& a, const Tensor& b, Tensor& out) {
  const std::vector<int64_t> shape = at::infer_size(a.sizes(), b.sizes());
  return out.sizes() == shape ? out : allocated(out, shape);
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& x,
                                    at::OptionalIntArrayRef dims,
                                    const std::optional<at::Scalar>& /*correction*/,
                                    bool keepdim) {
  const Tensor like = at::sum(x, dims, keepdim);
  return {at::empty_like(like), at::empty_like(like)};
}

// ---- arithmetic ----

// What the CPU's arithmetic of two types allocates: either operand in their common type. A number
// beside a tensor is a tensor on the host, which is not counted by itself.
class Promoted {
 public:
  Promoted(const Tensor& a, const Tensor& b) {
    const at::ScalarType common = at::result_type(a, b);
    for (const Tensor& each : {a, b}) {
      const auto meta = at::TensorOptions().device(at::kMeta);
      if (each.is_cpu()) held_.push_back(at::empty(each.sizes(), meta.dtype(each.scalar_type())));
      if (each.scalar_type() != common)
        held_.push_back(at::empty(each.sizes(), meta.dtype(common)));
    }
  }

 private:
  std::vector<Tensor> held_;
};

Tensor multiply(const Tensor& a, const Tensor& b) {
  const Promoted promoted(a, b);
  return at::meta::mul(a, b);
}

Tensor& multiply_in_place(Tensor& a, const Tensor& b) {
  const Promoted promoted(a, b);
  return at::meta::mul_(a, b);
}

Tensor& add_in_place(Tensor& a, const Tensor& b, const at::Scalar& alpha) {
  const Promoted promoted(a, b);
  return at::meta::add_(a, b, alpha);
}

// Where two gradients of one tensor meet, autograd adds the second to the first in place when nobody
// else has the first; but not on the meta device. It does so between the nodes of a graph.
Tensor add(const Tensor& a, const Tensor& b, const at::Scalar& alpha) {
  const Promoted promoted(a, b);
  const bool meeting =
      torch::autograd::get_current_graph_task_id() != -1 && !torch::autograd::get_current_node();
  const bool alone =
      a.use_count() == 1 && a.storage().use_count() == 1 && a.is_non_overlapping_and_dense();
  return meeting && alone ? a : at::meta::add(a, b, alpha);
}

// A CPU adds up truths as integers.
Tensor sum(const Tensor& x,
           at::OptionalIntArrayRef dims,
           bool keepdim,
           std::optional<at::ScalarType> type) {
  const Tensor wide =
      x.scalar_type() == at::kBool ? at::empty(x.sizes(), x.options().dtype(at::kLong)) : Tensor();
  return at::meta::sum(x, dims, keepdim, type);
}

// A CPU copies a transposed matrix through a square of it, if it is large enough.
Tensor& copy(Tensor& to, const Tensor& from, bool /*non_blocking*/) {
  TORCH_CHECK(to.is_meta(), "a tensor of the meta device has no values to copy");
  constexpr int64_t kSquare = 60 * 60;
  const bool transposed = to.dim() == 2 && from.dim() == 2 && to.is_contiguous() &&
                          from.stride(0) == 1 && from.stride(1) == from.size(0) &&
                          to.scalar_type() == from.scalar_type() && to.numel() >= kSquare;
  if (transposed) at::empty({kSquare}, to.options());
  return to;
}

// ---- updates in place ----

void fused_adamw(at::TensorList /*weights*/,
                 at::TensorList /*gradients*/,
                 at::TensorList /*first_moments*/,
                 at::TensorList /*second_moments*/,
                 at::TensorList /*largest_second_moments*/,
                 at::TensorList /*steps*/,
                 double /*lr*/,
                 double /*beta1*/,
                 double /*beta2*/,
                 double /*weight_decay*/,
                 double /*epsilon*/,
                 bool /*amsgrad*/,
                 bool /*maximize*/,
                 const MaybeTensor& /*divisor*/,
                 const MaybeTensor& /*skipped*/) {}

void fused_sgd(at::TensorList /*weights*/,
               at::TensorList /*gradients*/,
               at::TensorList /*momenta*/,
               double /*weight_decay*/,
               double /*momentum*/,
               double /*lr*/,
               double /*dampening*/,
               bool /*nesterov*/,
               bool /*maximize*/,
               bool /*is_first_step*/,
               const MaybeTensor& /*divisor*/,
               const MaybeTensor& /*skipped*/) {}

}  // namespace

void register_meta_kernels() {
  static const torch::Library library = [] {
    torch::Library ours(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
    ours.impl("native_layer_norm", layer_norm);
    ours.impl("native_layer_norm_backward", layer_norm_backward);
    ours.impl("_scaled_dot_product_flash_attention_for_cpu", flash_attention);
    ours.impl("_scaled_dot_product_flash_attention_for_cpu_backward", flash_attention_backward);
    ours.impl("index_select", index_select);
    ours.impl("index_select.out", index_select_out);
    ours.impl("where.self", where);
    ours.impl("std_mean.correction", std_mean);
    ours.impl("add.Tensor", add);
    ours.impl("add_.Tensor", add_in_place);
    ours.impl("mul.Tensor", multiply);
    ours.impl("mul_.Tensor", multiply_in_place);
    for (const char* unary : {"abs.out", "logical_not.out"}) ours.impl(unary, unary_out);
    for (const char* binary : {"logical_and.out", "logical_or.out"}) ours.impl(binary, binary_out);
    ours.impl("sum.dim_IntList", sum);
    ours.impl("copy_", copy);
    ours.impl("_fused_adamw_", fused_adamw);
    ours.impl("_fused_sgd_", fused_sgd);
    return ours;
  }();
}

}  // namespace shoal::dry_run
