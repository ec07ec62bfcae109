#include "shoal/model/weights.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/core/random.h"

namespace shoal::model {
namespace {

// 64 bytes in the narrowest type: every weight begins where vector units like it.
constexpr int64_t kAlignment = 32;

int64_t aligned(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

int64_t elements_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<Box> parts_of(const WeightSpec& spec) {
  if (!spec.parts.empty()) return spec.parts;
  return {{.rows = spec.shape[0], .columns = spec.columns()}};
}

// The values of `box` of a logical tensor: each depends on its own place alone.
void fill_normal(const WeightSpec& spec, const Box& box, const Random& random, float* out) {
  for (int64_t row = 0; row < box.rows; ++row) {
    const int64_t first = (box.first_row + row) * spec.columns() + box.first_column;
    random.fill_normal({out + row * box.columns, static_cast<size_t>(box.columns)},
                       static_cast<uint64_t>(first));
  }
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

at::Tensor new_values(const WeightSpec& spec, uint64_t seed) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (spec.init.kind == Init::Kind::kZeros) return at::zeros(spec.local_shape(), options);
  if (spec.init.kind == Init::Kind::kOnes) return at::ones(spec.local_shape(), options);
  at::Tensor values = at::empty(spec.local_shape(), options);
  const Random random(seed, RandomStream::kWeights, spec.name);
  float* out = values.data_ptr<float>();
  for (const Box& box : parts_of(spec)) {
    fill_normal(spec, box, random, out);
    out += box.rows * box.columns;
  }
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
  SHOAL_CHECK(!flat_weight_.defined(), "{}: declared after materialize()", spec.name);
  SHOAL_CHECK(spec.shape.size() == 1 || spec.shape.size() == 2, "{}: {} dimensions", spec.name,
              spec.shape.size());
  specs_.push_back(std::move(spec));
  return {this, specs_.size() - 1};
}

void UnitWeights::materialize(const Materials& materials) {
  lay_out();
  const auto options = at::TensorOptions().device(materials.device);
  flat_weight_ = at::zeros({elements_}, options.dtype(materials.dtype));
  weights_ = views_of(flat_weight_);
  if (materials.new_values) initialize(materials.seed);
  if (!materials.gradients) return;
  flat_gradient_ = at::zeros({elements_}, options.dtype(materials.gradient_dtype));
  gradients_ = views_of(flat_gradient_);
  written_.assign(specs_.size(), false);
}

void UnitWeights::lay_out() {
  offsets_.resize(specs_.size());
  elements_ = 0;
  for (const bool decays : {true, false}) {
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].decays() != decays) continue;
      offsets_[i] = elements_;
      elements_ += aligned(elements_of(specs_[i].local_shape()));
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

void UnitWeights::initialize(uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < specs_.size(); ++i) weights_[i].copy_(new_values(specs_[i], seed));
}

void UnitWeights::open_gradients() { written_.assign(specs_.size(), false); }

void UnitWeights::close_gradients() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (first_write(i)) gradients_[i].zero_();
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
  if (left.scalar_type() != sum.scalar_type()) {  // no operator adds bf16 products to fp32
    add_narrow_product(sum, left.t(), right, first);
  } else if (first) {
    at::mm_out(sum, left.t(), right);
  } else {
    sum.addmm_(left.t(), right);
  }
}

}  // namespace shoal::model
