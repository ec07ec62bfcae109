#include "shoal/model/weights.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/core/random.h"
#include "shoal/plan/parameters.h"

namespace shoal::model {
namespace {

using plan::aligned;

int64_t elements_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<Box> parts_of(const WeightSpec& spec) {
  if (!spec.parts.empty()) return spec.parts;
  return {{.rows = spec.shape[0], .columns = spec.columns()}};
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
  for (const Box& box : parts_of(spec)) {
    const int64_t held = box.rows * box.columns;
    while (first < held && !out.empty()) {
      const int64_t row = first / box.columns;
      const int64_t column = first % box.columns;
      const int64_t count = std::min(box.columns - column, static_cast<int64_t>(out.size()));
      const int64_t place = (box.first_row + row) * spec.columns() + box.first_column + column;
      random.fill_normal(out.first(static_cast<size_t>(count)), static_cast<uint64_t>(place));
      out = out.subspan(static_cast<size_t>(count));
      first += count;
    }
    first = std::max<int64_t>(first - held, 0);
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

std::vector<int64_t> WeightSpec::local_shape() const {
  if (parts.empty()) return shape;
  std::vector<int64_t> local = {0};
  for (const Box& box : parts) local[0] += box.rows;
  if (shape.size() == 2) local.push_back(parts.front().columns);
  return local;
}

int64_t WeightSpec::local_elements() const { return elements_of(local_shape()); }

const at::Tensor& Weight::value() const { return unit_->weight(index_); }

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

void Weight::add_gradient_product(const at::Tensor& left, const at::Tensor& right) const {
  unit_->multiply_into(index_, left, right);
}

void Weight::add_gradient_product_later(const at::Tensor& left, const at::Tensor& right) const {
  if (!unit_->deferring_) return add_gradient_product(left, right);
  unit_->later_.emplace_back(
      [weight = *this, left, right] { weight.add_gradient_product(left, right); });
}

void Weight::add_gradient_rows(const at::Tensor& indices, const at::Tensor& rows) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& sum = unit_->gradient(index_);
  if (unit_->first_write(index_)) sum.zero_();
  sum.index_add_(0, indices, rows.to(sum.scalar_type()));
}

Weight UnitWeights::declare(WeightSpec spec) {
  SHOAL_CHECK(offsets_.empty(), "{}: declared after the unit was laid out", spec.name);
  SHOAL_CHECK(spec.shape.size() == 1 || spec.shape.size() == 2, "{}: {} dimensions", spec.name,
              spec.shape.size());
  specs_.push_back(std::move(spec));
  return {this, specs_.size() - 1};
}

void UnitWeights::materialize(const Materials& materials) {
  lay_out();
  const auto options = at::TensorOptions().device(materials.device);
  const at::Tensor weights = at::zeros({elements_}, options.dtype(materials.dtype));
  if (materials.new_values) draw(weights, 0, materials.seed);
  set_weights(weights);
  if (materials.gradients)
    set_gradients(at::zeros({elements_}, options.dtype(materials.gradient_dtype)));
}

void UnitWeights::set_weights(const at::Tensor& flat) {
  flat_weight_ = flat;
  weights_ = flat.defined() ? views_of(flat) : std::vector<at::Tensor>(specs_.size());
}

void UnitWeights::set_gradients(const at::Tensor& flat) {
  flat_gradient_ = flat;
  gradients_ = flat.defined() ? views_of(flat) : std::vector<at::Tensor>(specs_.size());
  written_.assign(specs_.size(), false);
}

void UnitWeights::draw(const at::Tensor& out, int64_t first, uint64_t seed) const {
  const at::NoGradGuard no_grad;
  out.zero_();
  const int64_t end = first + out.numel();
  for (size_t i = 0; i < specs_.size(); ++i) {
    const int64_t begin = std::max(first, offsets_[i]);
    const int64_t count = std::min(end, offsets_[i] + specs_[i].local_elements()) - begin;
    if (count > 0)
      out.narrow(0, begin - first, count)
          .copy_(new_values(specs_[i], begin - offsets_[i], count, seed));
  }
}

void UnitWeights::lay_out() {
  if (offsets_.size() == specs_.size()) return;
  offsets_.resize(specs_.size());
  elements_ = 0;
  for (const bool decays : {true, false}) {
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].decays() != decays) continue;
      offsets_[i] = elements_;
      elements_ += aligned(specs_[i].local_elements());
    }
    if (decays) decayed_ = elements_;
  }
}

std::vector<at::Tensor> UnitWeights::views_of(const at::Tensor& flat) const {
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < specs_.size(); ++i) {
    const std::vector<int64_t> shape = specs_[i].local_shape();
    views.push_back(flat.narrow(0, offsets_[i], elements_of(shape)).view(shape));
  }
  return views;
}

void UnitWeights::open_gradients() { written_.assign(specs_.size(), false); }

void UnitWeights::close_gradients() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (first_write(i)) gradients_[i].zero_();
    const int64_t used = specs_[i].local_elements();
    if (used < aligned(used))
      flat_gradient_.narrow(0, offsets_[i] + used, aligned(used) - used).zero_();
  }
}

void UnitWeights::run_later() {
  for (const auto& product : later_) product();
  later_.clear();
  deferring_ = false;
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
  if (sum.numel() == 0) return;                   // a rank's part may be empty
  if (left.scalar_type() != sum.scalar_type()) {  // no operator adds bf16 products to fp32
    add_narrow_product(sum, left.t(), right, first);
  } else if (first) {
    at::mm_out(sum, left.t(), right);
  } else {
    sum.addmm_(left.t(), right);
  }
}

}  // namespace shoal::model
