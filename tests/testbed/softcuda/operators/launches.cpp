#include "launches.h"

#include <algorithm>

#include "values.h"

namespace softcuda {
namespace {

// ATen/native/cuda/MultiTensorApply.cuh: tensors per launch for 1 to 5 lists, blocks per launch, elements per block.
constexpr size_t kTensors[] = {110, 64, 48, 36, 30};
constexpr size_t kBlocks = 320;
constexpr size_t kChunk = 65536;

}  // namespace

size_t multi_tensor_launches(const std::vector<at::Tensor>& tensors, size_t lists) {
  const size_t most = kTensors[std::clamp<size_t>(lists, 1, 5) - 1];
  size_t launches = 0, in_launch = 0, blocks = 0;
  for (const at::Tensor& tensor : tensors) {
    size_t chunks = (size_t(tensor.numel()) + kChunk - 1) / kChunk;
    if (chunks == 0) continue;
    ++in_launch;
    while (chunks > 0) {
      const size_t fit = std::min(chunks, kBlocks - blocks);
      blocks += fit;
      chunks -= fit;
      const bool full = blocks == kBlocks || (in_launch == most && chunks == 0);
      if (!full) continue;
      ++launches;
      blocks = 0;
      in_launch = chunks > 0 ? 1 : 0;  // the rest of a tensor opens the next launch
    }
  }
  return launches + (blocks > 0 ? 1 : 0);
}

size_t launches_of(const std::string& operator_name,
                   const c10::FunctionSchema& schema,
                   const std::vector<c10::IValue>& arguments) {
  const bool on_lists = operator_name.starts_with("aten::_foreach_") ||
                        operator_name.starts_with("aten::_fused_adam") ||
                        operator_name.starts_with("aten::_fused_sgd") ||
                        operator_name.starts_with("aten::_amp_foreach_");
  if (on_lists) {
    std::vector<at::Tensor> first;
    size_t lists = 0;
    for (const c10::IValue& argument : arguments) {
      if (!argument.isTensorList() || argument.toTensorVector().empty()) continue;
      if (lists++ == 0) first = argument.toTensorVector();
    }
    // A result that is new is one list more.
    for (const auto& result : schema.returns()) lists += result.alias_info() ? 0 : 1;
    size_t launches = multi_tensor_launches(first, lists);
    // Norms and maxima are reduced per block and then once more.
    const bool reduces = operator_name.starts_with("aten::_foreach_norm") ||
                         operator_name.starts_with("aten::_foreach_max");
    return launches + (reduces && launches > 0 ? 1 : 0);
  }
  bool any = false, elements = false;
  for (const c10::IValue& argument : arguments) {
    each_tensor(argument, [&](const at::Tensor& tensor) {
      any = true;
      elements |= tensor.numel() > 0;
    });
  }
  return any && !elements ? 0 : 1;
}

}  // namespace softcuda
