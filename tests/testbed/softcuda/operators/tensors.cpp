#include "tensors.h"

#include <exception>
#include <future>
#include <memory>

#include <c10/cuda/CUDAException.h>

// libgomp's; its header is the compiler's, not libtorch's.
extern "C" void omp_set_num_threads(int threads);

namespace softcuda {
namespace {

struct Work {
  std::function<void()> run;
  const char* name;
};

void discard_work(void* data) { delete static_cast<Work*>(data); }

void run_work(void* data) {
  const std::unique_ptr<Work> work(static_cast<Work*>(data));
  // Many streams' threads share few cores.
  thread_local const bool alone = (omp_set_num_threads(1), true);
  (void)alone;
  const BelowAutograd below;
  const at::NoGradGuard no_grad;
  try {
    work->run();
  } catch (const c10::Error& error) {
    softcudaTaskFailed(work->name, cudaErrorAssert, error.what_without_backtrace());
  } catch (const std::exception& error) {
    softcudaTaskFailed(work->name, cudaErrorAssert, error.what());
  }
}

}  // namespace

Seen::Seen(const at::Tensor& tensor)
    : data_(tensor.numel() ? tensor.data_ptr() : nullptr),
      sizes_(tensor.sizes().vec()),
      strides_(tensor.strides().vec()),
      dtype_(tensor.scalar_type()) {}

at::Tensor Seen::cpu() const {
  const auto options = at::TensorOptions().dtype(dtype_).device(at::kCPU);
  if (!data_) return at::empty_strided(sizes_, strides_, options);
  void* const inside = softcudaInside(data_);
  return at::from_blob(
      inside, sizes_, strides_, [](void*) {}, options, at::Device(at::kCPU));
}

SoftcudaRange range_of(const at::Tensor& tensor, bool writes, const char* operand) {
  if (tensor.numel() == 0) return {nullptr, 0, writes, operand};
  int64_t last = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  return {tensor.data_ptr(), size_t(last + 1) * tensor.element_size(), writes, operand};
}

void launch(cudaStream_t stream,
            const char* name,
            const std::vector<SoftcudaRange>& ranges,
            std::function<void()> run) {
  auto* work = new Work{std::move(run), name};
  C10_CUDA_CHECK(
      softcudaLaunch(stream, name, ranges.data(), ranges.size(), run_work, discard_work, work));
}

void launch_and_wait(cudaStream_t stream,
                     const char* name,
                     const std::vector<SoftcudaRange>& ranges,
                     const std::function<void()>& run) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> result = done->get_future();
  launch(stream, name, ranges, [&run, done = std::move(done)] {
    try {
      run();
      done->set_value();
    } catch (...) {
      done->set_exception(std::current_exception());
    }
  });
  try {
    result.get();
  } catch (const std::future_error&) {  // the device failed before, and the task was discarded
    C10_CUDA_CHECK(cudaStreamSynchronize(stream));
    throw;
  }
}

}  // namespace softcuda
