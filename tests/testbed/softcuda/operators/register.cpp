// libsoftaten.so: when it is loaded, every CUDA kernel that libtorch registered is replaced.
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <torch/library.h>

#include "attention.h"
#include "boxed.h"
#include "copies.h"

namespace softcuda {
namespace {

// libtorch's own kernels for these touch no element, or only through the runtime.
bool stays_real(const std::string& name) {
  static const std::set<std::string> names = {
      "aten::_efficientzerotensor",
      "aten::_pin_memory",
      "aten::_record_function_enter",
      "aten::_resize_output_",
      "aten::as_strided",
      "aten::empty.memory_format",
      "aten::empty_strided",
      "aten::is_pinned",
      "aten::is_set_to",
      "aten::record_stream",
      "aten::resize_",
      "aten::set_",
      "aten::set_.source_Storage",
      "aten::set_.source_Storage_storage_offset",
      "aten::set_.source_Tensor",
  };
  return names.contains(name);
}

bool is_by_hand(const std::string& name) {
  static const std::set<std::string> names = {
      "aten::_flash_attention_backward",
      "aten::_flash_attention_forward",
      "aten::_foreach_copy_",
      "aten::_local_scalar_dense",
      "aten::copy_",
  };
  return names.contains(name);
}

bool is_view(const c10::FunctionSchema& schema) {
  for (const auto& result : schema.returns()) {
    if (result.alias_info() && !result.alias_info()->isWrite()) return true;
  }
  return false;
}

// Other namespaces are left alone: c10d's operators for CUDA are not kernels but calls of a process group.
constexpr const char* kNamespace = "aten";

// Lives as long as its registrations.
torch::Library& library() {
  static auto& made = *new torch::Library(torch::Library::IMPL, kNamespace, c10::DispatchKey::CUDA,
                                          __FILE__, __LINE__);
  return made;
}

// The dispatcher warns once per kernel that is replaced.
struct Quiet : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

void replace_kernels() {
  Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard no_warnings(&quiet);
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto registered = dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::CUDA);
  for (const c10::OperatorName& name : registered) {
    const std::string full = toString(name);
    const auto op = dispatcher.findSchema(name);
    if (!op || stays_real(full) || is_by_hand(full) || is_view(op->schema())) continue;
    if (name.getNamespace() != kNamespace) continue;
    library().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&boxed_kernel>());
  }
  torch::Library& aten = library();
  aten.impl("copy_", torch::CppFunction(&copy_));
  aten.impl("_foreach_copy_", torch::CppFunction(&foreach_copy_));
  aten.impl("_local_scalar_dense", torch::CppFunction(&local_scalar_dense));
  aten.impl("_flash_attention_forward", torch::CppFunction(&flash_attention_forward));
  aten.impl("_flash_attention_backward", torch::CppFunction(&flash_attention_backward));
}

// scaled_dot_product_attention asks a table of function pointers which kernel fits, not the dispatcher. Only the
// implementation that is made of other operators is left to it.
void leave_only_composed_attention() {
  at::globalContext().setSDPUseFlash(false);
  at::globalContext().setSDPUseMemEfficient(false);
  at::globalContext().setSDPUseCuDNN(false);
}

[[gnu::constructor]] void on_load() {
  replace_kernels();
  leave_only_composed_attention();
}

}  // namespace
}  // namespace softcuda
