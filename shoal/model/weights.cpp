#include "shoal/model/weights.h"

#include <algorithm>
#include <span>

#include <ATen/ATen.h>

#include "shoal/core/element_range.h"
#include "shoal/core/error.h"
#include "shoal/core/random.h"

namespace shoal::model {
namespace {

using blueprint::Init;

// sum = or += left right in one product, where only the sum is wide: GPUs have it for fp32.
void add_wide_product(at::Tensor& sum,
                      const at::Tensor& left,
                      const at::Tensor& right,
                      bool first) {
  if (first)
    at::mm_outf(left, right, sum.scalar_type(), sum);
  else
    at::addmm_outf(sum, left, right, sum.scalar_type(), /*beta=*/1, /*alpha=*/1, sum);
}

// sum = or += left right, where only the sum is wide. A few rows at a time: the product and what an
// addition of two types makes of it stay small.
void add_narrow_product(const at::Tensor& sum,
                        const at::Tensor& left,
                        const at::Tensor& right,
                        bool first) {
  constexpr int64_t kElements = 1 << 22;
  const int64_t step = std::clamp<int64_t>(kElements / sum.size(1), 1, sum.size(0));
  for (int64_t row = 0; row < sum.size(0); row += step) {
    const int64_t rows = std::min(step, sum.size(0) - row);
    const at::Tensor product = at::mm(left.narrow(0, row, rows), right);
    const at::Tensor part = sum.narrow(0, row, rows);
    first ? part.copy_(product) : part.add_(product);
  }
}

// Elements [first, first + out.size()) of what this rank holds of a weight: each depends on its own place
// in the logical tensor alone.
void fill_normal(const WeightSpec& spec,
                 const Random& random,
                 int64_t first,
                 std::span<float> out) {
  for (const auto& [box, offset, elements] :
       boxes_of_range(spec.parts, first, static_cast<int64_t>(out.size()))) {
    const int64_t columns = spec.is_matrix() ? box.extent[1] : 1;
    const int64_t first_column = spec.is_matrix() ? box.begin[1] : 0;
    for (int64_t row = 0; row < box.extent[0]; ++row) {
      const int64_t place = (box.begin[0] + row) * spec.columns() + first_column;
      random.fill_normal(
          out.subspan(static_cast<size_t>(offset + row * columns), static_cast<size_t>(columns)),
          static_cast<uint64_t>(place));
    }
  }
}

// New values of a part of a weight.
at::Tensor new_values(const WeightSpec& spec, int64_t first, int64_t count, uint64_t seed) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (spec.init.kind == Init::Kind::kZeros) return at::zeros({count}, options);
  if (spec.init.kind == Init::Kind::kOnes) return at::ones({count}, options);
  at::Tensor values = at::empty({count}, options);
  fill_normal(spec, Random(seed, RandomStream::kWeights, spec.name), first,
              {values.data_ptr<float>(), static_cast<size_t>(count)});
  return values.mul_(spec.init.std);
}

}  // namespace

at::Tensor in_box(const at::Tensor& whole, const Box& box) {
  at::Tensor inside = whole;
  for (size_t dim = 0; dim < box.begin.size(); ++dim)
    inside = inside.narrow(static_cast<int64_t>(dim), box.begin[dim], box.extent[dim]);
  return inside;
}

const at::Tensor& Weight::value() const {
  SHOAL_CHECK(unit_->flat_weight().defined(), "the weights of {} are read before they are gathered",
              unit_->name());
  return unit_->weight(index_);
}

const WeightSpec& Weight::spec() const { return unit_->spec(index_); }

void Weight::add_gradient(const at::Tensor& gradient) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& sum = unit_->gradient(index_);
  if (unit_->first_write(index_)) {
    sum.copy_(gradient);
  } else {
    sum.add_(gradient);
  }
}

void Weight::add_gradient_sum(const at::Tensor& rows) const {
  const at::NoGradGuard no_grad;
  at::Tensor sum = unit_->gradient(index_);
  // A GPU sums into the gradient, whatever its type; a CPU would widen the rows first.
  if (!rows.is_cuda() || !unit_->first_write(index_)) return add_gradient(rows.sum(0));
  at::sum_out(sum, rows, /*dim=*/at::IntArrayRef{0}, /*keepdim=*/false, sum.scalar_type());
}

void Weight::add_gradient_product(const at::Tensor& left, const at::Tensor& right) const {
  unit_->multiply_into(index_, left, right);
}

void Weight::add_gradient_rows(const at::Tensor& indices, const at::Tensor& rows) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& sum = unit_->gradient(index_);
  if (unit_->first_write(index_)) sum.zero_();
  sum.index_add_(0, indices, rows.to(sum.scalar_type()));
}

size_t UnitWeights::index_of(std::string_view name) const {
  for (size_t i = 0; i < size(); ++i) {
    if (spec(i).name == name) return i;
  }
  throw BugError(format("{} has no weight {}", unit_.name, name));
}

void UnitWeights::materialize(const Materials& materials) {
  const auto options = at::TensorOptions().device(materials.device);
  const at::Tensor weights = at::zeros({elements()}, options.dtype(materials.dtype));
  if (materials.new_values) draw(weights, 0, materials.seed);
  set_weights(weights);
  if (materials.gradients)
    set_gradients(at::zeros({elements()}, options.dtype(materials.gradient_dtype)));
}

void UnitWeights::set_weights(const at::Tensor& flat) {
  flat_weight_ = flat;
  weights_ = flat.defined() ? views_of(flat) : std::vector<at::Tensor>(size());
}

void UnitWeights::set_gradients(const at::Tensor& flat) {
  flat_gradient_ = flat;
  gradients_ = flat.defined() ? views_of(flat) : std::vector<at::Tensor>(size());
  written_.assign(size(), false);
}

void UnitWeights::draw(const at::Tensor& out, int64_t first, uint64_t seed) const {
  if (out.is_meta()) return;  // has no values
  const at::NoGradGuard no_grad;
  out.zero_();
  const int64_t end = first + out.numel();
  for (size_t i = 0; i < size(); ++i) {
    const int64_t begin = std::max(first, offset(i));
    const int64_t count = std::min(end, offset(i) + spec(i).local_elements()) - begin;
    if (count > 0)
      out.narrow(0, begin - first, count)
          .copy_(new_values(spec(i), begin - offset(i), count, seed));
  }
}

std::vector<at::Tensor> UnitWeights::views_of(const at::Tensor& flat) const {
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < size(); ++i) {
    const Shape shape = spec(i).local_shape();
    views.push_back(flat.narrow(0, offset(i), spec(i).local_elements()).view(shape));
  }
  return views;
}

void UnitWeights::open_gradients() { written_.assign(size(), false); }

void UnitWeights::close_gradients() {
  for (size_t i = 0; i < size(); ++i) {
    if (first_write(i)) gradients_[i].zero_();
    const int64_t used = spec(i).local_elements();
    const int64_t room = blueprint::aligned(used);
    if (used < room) flat_gradient_.narrow(0, offset(i) + used, room - used).zero_();
  }
}

bool UnitWeights::first_write(size_t index) {
  const bool first = !written_[index];
  written_[index] = true;
  return first;
}

void UnitWeights::multiply_into(size_t index, const at::Tensor& left, const at::Tensor& right) {
  const at::NoGradGuard no_grad;
  at::Tensor sum = gradients_[index];
  const bool first = first_write(index);
  if (sum.numel() == 0) return;  // a rank's part may be empty
  if (left.scalar_type() != sum.scalar_type()) {
    if (sum.is_cuda())
      add_wide_product(sum, left.t(), right, first);
    else  // where no operator adds bf16 products to fp32
      add_narrow_product(sum, left.t(), right, first);
  } else if (first) {
    at::mm_out(sum, left.t(), right);
  } else {
    sum.addmm_(left.t(), right);
  }
}

}  // namespace shoal::model
