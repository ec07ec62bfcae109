#include "shoal/model/functions/first_calls.h"

#include <ATen/ATen.h>

namespace shoal::model {
namespace {

bool call_vector_functions() {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor few =
        at::ones({64}, at::TensorOptions(type));  // too few to be divided among threads
    for (const auto& function : {at::exp, at::log, at::sin, at::cos, at::tanh, at::sqrt, at::erf})
      function(few);
  }
  return true;
}

}  // namespace

void make_first_calls() {
  static const bool made = call_vector_functions();
  (void)made;
}

}  // namespace shoal::model
