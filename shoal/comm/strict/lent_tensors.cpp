#include "shoal/comm/strict/lent_tensors.h"

#include <cstring>
#include <utility>

#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr int kPoison = 0xFF;  // NaN in every floating type

Tensors copies_of(const Tensors& tensors) {
  Tensors copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

}  // namespace

LentTensors::LentTensors(Tensors inputs, Tensors outputs)
    : inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      copied_inputs_(copies_of(inputs_)),
      copied_outputs_(copies_of(outputs_)) {
  for (const at::Tensor& output : outputs_)
    std::memset(output.mutable_data_ptr(), kPoison, output.nbytes());
  // A shard that lies in the tensor it is gathered into stays readable there.
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].copy_(copied_inputs_[i]);
  meanwhile_ = copies_of(outputs_);
}

void LentTensors::give_back() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    SHOAL_CHECK(same_bytes(inputs_[i], copied_inputs_[i]),
                "{} elements were written while they were on the way to other ranks",
                inputs_[i].numel());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    SHOAL_CHECK(same_bytes(outputs_[i], meanwhile_[i]),
                "{} elements were written while their values were on the way from other ranks",
                outputs_[i].numel());
    outputs_[i].copy_(copied_outputs_[i]);
  }
}

}  // namespace shoal::comm
