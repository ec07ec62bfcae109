#include "boxed.h"

#include <mutex>
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "launches.h"
#include "refusals.h"
#include "shapes.h"
#include "softcuda.h"
#include "substitutes.h"
#include "tensors.h"
#include "values.h"

namespace softcuda {
namespace {

using c10::IValue;
using torch::jit::Stack;
using Arguments = std::vector<IValue>;

// Indices may be on the CPU beside a tensor on a GPU.
bool may_mix_devices(const std::string& name) {
  static const std::set<std::string> names = {"aten::_index_put_impl_", "aten::index.Tensor",
                                              "aten::index.Tensor_out", "aten::index_put_"};
  return names.contains(name);
}

// A CPU generator that is a function of the CUDA generator's seed and offset, which advances as on a GPU.
at::Generator cpu_generator(const IValue& given, at::DeviceIndex device) {
  at::Generator generator =
      given.isNone() ? at::cuda::detail::getDefaultCUDAGenerator(device) : given.toGenerator();
  auto* cuda = at::check_generator<at::CUDAGeneratorImpl>(generator);
  std::lock_guard lock(cuda->mutex_);
  const auto [seed, offset] = cuda->philox_engine_inputs(4);
  return at::detail::createCPUGenerator(seed * 0x9E3779B97F4A7C15ull + offset);
}

// The results that a task fills, per return of the operator.
using Targets = std::vector<std::vector<Seen>>;

void run_on_cpu(const c10::OperatorHandle& op,
                const std::vector<Later>& later,
                const Targets& targets) {
  Stack stack;
  for (const Later& value : later) stack.push_back(value());
  call_on_cpu(op, &stack);
  for (size_t r = 0; r < targets.size(); ++r) {
    if (targets[r].empty()) continue;
    size_t i = 0;
    each_tensor(stack[r], [&](const at::Tensor& result) {
      at::Tensor to = targets[r][i++].cpu();
      TORCH_CHECK(to.sizes() == result.sizes(), "the Meta kernel promised ", to.sizes(),
                  ", the CPU's made ", result.sizes());
      to.copy_(result);
    });
  }
}

class Call {
 public:
  Call(const c10::OperatorHandle& op, Arguments arguments)
      : op_(op),
        schema_(op.schema()),
        arguments_(std::move(arguments)),
        name_(toString(op.operator_name())),
        device_(find_device()),
        guard_(device_),
        stream_(c10::cuda::getCurrentCUDAStream(device_.index())) {}

  Stack run() {
    TORCH_CHECK_NOT_IMPLEMENTED(has_cpu_kernel(op_), "softcuda: ", name_, " has no double");
    refuse_like_cuda(name_, arguments_);
    replace_generators();
    softcudaCountLaunches(name_.c_str(), launches_of(name_, schema_, arguments_));
    const BelowAutograd below;
    if (has_new_results() || has_outputs()) {
      if (!results_are_tensors()) return run_and_wait();
      const std::optional<Stack> shapes = shapes_of(op_, arguments_);
      if (shapes) return run_later(*shapes);
      return has_new_results() || !outputs_are_sized() ? run_and_wait() : run_later({});
    }
    return run_later({});
  }

 private:
  at::Device find_device() const;
  void replace_generators();
  bool has_new_results() const;
  bool has_outputs() const;
  bool results_are_tensors() const;
  bool outputs_are_sized() const;
  bool is_empty_output(size_t i) const;
  IValue aliased(size_t result) const;
  std::vector<SoftcudaRange> ranges() const;
  Stack run_later(const Stack& shapes);
  Stack run_and_wait();
  void upload(const at::Tensor& to, const at::Tensor& from) const;

  // The dispatcher keeps names for ever.
  const char* task_name() const { return op_.operator_name().name.c_str(); }

  const c10::OperatorHandle& op_;
  const c10::FunctionSchema& schema_;
  Arguments arguments_;
  const std::string name_;
  const at::Device device_;
  const c10::cuda::CUDAGuard guard_;
  const cudaStream_t stream_;
};

at::Device Call::find_device() const {
  std::optional<at::Device> device;
  for (const IValue& argument : arguments_) {
    each_tensor(argument, [&](const at::Tensor& t) {
      if (!t.is_cuda()) return;
      TORCH_CHECK(!device || *device == t.device(), "softcuda: ", name_, " has tensors on ",
                  *device, " and on ", t.device());
      device = t.device();
    });
    if (argument.isDevice() && argument.toDevice().is_cuda() && !device)
      device = argument.toDevice();
  }
  TORCH_CHECK(device, "softcuda: ", name_, " has no tensor on a GPU");
  if (!may_mix_devices(name_)) {
    for (const IValue& argument : arguments_) {
      each_tensor(argument, [&](const at::Tensor& t) {
        TORCH_CHECK(t.is_cuda() || t.dim() == 0, "softcuda: ", name_, " has a CPU tensor of shape ",
                    t.sizes(), " beside ", *device);
      });
    }
  }
  return device->has_index() ? *device : at::Device(at::kCUDA, c10::cuda::current_device());
}

void Call::replace_generators() {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const std::string type = schema_.arguments()[i].type()->str();
    if (type.find("Generator") == std::string::npos) continue;
    arguments_[i] = cpu_generator(arguments_[i], device_.index());
  }
}

bool Call::has_new_results() const {
  bool found = false;
  for (const auto& result : schema_.returns()) found |= !result.alias_info();
  return found;
}

bool Call::has_outputs() const {
  bool found = false;
  for (const auto& argument : schema_.arguments()) found |= argument.is_out();
  return found;
}

bool Call::results_are_tensors() const {
  for (const auto& result : schema_.returns()) {
    const bool is_tensor = result.type()->kind() == c10::TypeKind::TensorType;
    if (!result.alias_info() && !is_tensor && result.type()->str() != "Tensor[]") return false;
  }
  return true;
}

bool Call::outputs_are_sized() const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (is_empty_output(i)) return false;
  }
  return true;
}

bool Call::is_empty_output(size_t i) const {
  return schema_.arguments()[i].is_out() && arguments_[i].isTensor() &&
         arguments_[i].toTensor().numel() == 0;
}

// The argument that a result is.
IValue Call::aliased(size_t result) const {
  const auto& alias = *schema_.returns()[result].alias_info();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto* own = schema_.arguments()[i].alias_info();
    if (own && own->beforeSets() == alias.beforeSets()) return arguments_[i];
  }
  TORCH_CHECK(false, "softcuda: no argument for a result of ", name_);
}

std::vector<SoftcudaRange> Call::ranges() const {
  std::vector<SoftcudaRange> found;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto& formal = schema_.arguments()[i];
    const bool writes = formal.alias_info() && formal.alias_info()->isWrite();
    each_tensor(arguments_[i], [&](const at::Tensor& t) {
      if (t.is_cuda()) found.push_back(range_of(t, writes, formal.name().c_str()));
    });
  }
  return found;
}

Stack Call::run_later(const Stack& shapes) {
  std::vector<Later> later;
  for (const IValue& argument : arguments_) later.push_back(on_cpu(argument));
  std::vector<SoftcudaRange> touched = ranges();
  Targets targets(schema_.returns().size());
  Stack results;
  for (size_t r = 0; r < schema_.returns().size(); ++r) {
    if (schema_.returns()[r].alias_info()) {
      results.push_back(aliased(r));
      continue;
    }
    results.push_back(mapped(shapes[r], [&](const at::Tensor& meta) {
      const auto options = meta.options().device(device_);
      at::Tensor made = at::empty_strided(meta.sizes(), meta.strides(), options);
      targets[r].emplace_back(made);
      touched.push_back(range_of(made, true, "the result"));
      return made;
    }));
  }
  launch(stream_, task_name(), touched,
         [op = op_, later = std::move(later), targets = std::move(targets)] {
           run_on_cpu(op, later, targets);
         });
  return results;
}

void Call::upload(const at::Tensor& to, const at::Tensor& from) const {
  const std::vector<SoftcudaRange> touched = {range_of(to, true, "the result")};
  launch(stream_, task_name(), touched, [from, to = Seen(to)] { to.cpu().copy_(from); });
}

Stack Call::run_and_wait() {
  softcudaCountUnknownShape(name_.c_str());
  std::vector<Later> later;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (is_empty_output(i)) {
      const auto dtype = arguments_[i].toTensor().scalar_type();
      later.push_back([dtype] { return IValue(at::empty({0}, dtype)); });
    } else {
      later.push_back(on_cpu(arguments_[i]));
    }
  }
  Stack given, made;
  launch_and_wait(stream_, task_name(), ranges(), [&] {
    for (const Later& value : later) given.push_back(value());
    made = given;
    call_on_cpu(op_, &made);
  });
  // Where a GPU's host waits too, the clocks may know.
  if (!results_are_tensors() || waits_on_gpu(name_)) C10_CUDA_CHECK(cudaStreamSynchronize(stream_));
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!is_empty_output(i) || given[i].toTensor().numel() == 0) continue;
    arguments_[i].toTensor().resize_(given[i].toTensor().sizes());
    upload(arguments_[i].toTensor(), given[i].toTensor());
  }
  Stack results;
  for (size_t r = 0; r < schema_.returns().size(); ++r) {
    if (schema_.returns()[r].alias_info()) {
      results.push_back(aliased(r));
      continue;
    }
    results.push_back(mapped(made[r], [&](const at::Tensor& t) {
      at::Tensor result = at::empty_strided(t.sizes(), t.strides(), t.options().device(device_));
      upload(result, t);
      return result;
    }));
  }
  return results;
}

}  // namespace

void boxed_kernel(const c10::OperatorHandle& op, Stack* stack) {
  const size_t count = op.schema().arguments().size();
  Arguments arguments(stack->end() - long(count), stack->end());
  torch::jit::drop(*stack, count);
  for (IValue& result : Call(op, std::move(arguments)).run()) stack->push_back(std::move(result));
}

}  // namespace softcuda
