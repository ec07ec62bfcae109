// Every report that ends a process says what was done, by whom and to what. Each test forks, so the processes begin
// without any memory, stream or setting.
#include <atomic>
#include <cstdlib>
#include <thread>

#include <cuda_runtime_api.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "gpu.h"
#include "softcuda.h"

namespace {

using torch::Tensor;

void forgotten_event() {
  setenv("SOFTCUDA_RACES", "abort", 1);
  const auto x = torch::ones({8}, torch::device(kGpu));
  const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool(false, 0));
  x.sum();
}

TEST(Deaths, RaceNamesBothTasksStreamsAndOperands) {
  EXPECT_DEATH(forgotten_event(),
               "softcuda: race 1: aten::sum of stream [0-9]+ reads 32 bytes \\(self\\) that "
               "aten::fill_ of stream 0 writes \\(self\\), with no wait between");
}

void read_device_memory() {
  const auto x = torch::ones({4}, torch::device(kGpu));
  volatile const float value = *x.data_ptr<float>();
  (void)value;
}

void write_device_memory() {
  const auto x = torch::ones({4}, torch::device(kGpu));
  *x.data_ptr<float>() = 1;
}

TEST(Deaths, HostCannotTouchDeviceMemory) {
  EXPECT_DEATH(read_device_memory(), "softcuda: the host reads device memory at 0x");
  EXPECT_DEATH(write_device_memory(), "softcuda: the host writes device memory at 0x");
}

// The copy may have run long ago: what counts is that nobody waited for it.

void reuse_batch(bool wait) {
  const auto batch = torch::ones({64}).pin_memory();
  const auto there = batch.to(kGpu, /*non_blocking=*/true);
  EXPECT_EQ(batch[0].item<float>(), 1);  // reading what is only read is allowed
  if (wait) c10::cuda::getCurrentCUDAStream(0).synchronize();
  batch.zero_();
}

void read_result(bool wait) {
  const auto there = torch::ones({64}, torch::device(kGpu));
  const auto here = torch::zeros({64}, torch::TensorOptions().pinned_memory(true));
  here.copy_(there, /*non_blocking=*/true);
  if (wait) c10::cuda::getCurrentCUDAStream(0).synchronize();
  EXPECT_EQ(here[0].item<float>(), 1);
}

TEST(Deaths, PinnedMemoryBelongsToTheCopyUntilTheHostHasWaited) {
  EXPECT_DEATH(reuse_batch(false),
               "softcuda: the host writes pinned memory at 0x[0-9a-f]+ that cudaMemcpyAsync of "
               "stream 0 reads, with no wait between");
  EXPECT_DEATH(read_result(false),
               "softcuda: the host reads pinned memory at 0x[0-9a-f]+ that cudaMemcpyAsync of "
               "stream 0 writes, with no wait between");
  EXPECT_EXIT((reuse_batch(true), read_result(true), std::_Exit(0)), testing::ExitedWithCode(0),
              "");
}

// cuBLAS is the real one, and launches the real thing when somebody calls it behind libtorch's back; a registered
// function stands for it.
extern "C" void __cudaRegisterFunction(
    void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);

void launch_kernel() {
  static const char host = 0;
  __cudaRegisterFunction(nullptr, &host, nullptr, "_ZN5model6kernelEPfi", 0, nullptr, nullptr,
                         nullptr, nullptr, nullptr);
  cudaLaunchKernel(&host, dim3(1), dim3(1), nullptr, 0, nullptr);
}

TEST(Deaths, KernelThatIsLaunchedIsNamed) {
  EXPECT_DEATH(
      launch_kernel(),
      "softcuda: a kernel was launched that has no double: model::kernel\\(float\\*, int\\)");
}

void call_graph() {
  cudaGraphExec_t graph = nullptr;
  cudaGraphLaunch(graph, nullptr);
}

TEST(Deaths, SymbolWithoutADoubleIsNamed) {
  EXPECT_DEATH(call_graph(), "softcuda: cudaGraphLaunch is called, which has no double");
}

// One thread waits for a stream and tells another one by an atomic variable, which softcuda does not see.
void hand_over_by_atomic(const char* host_order, bool alarm) {
  setenv("SOFTCUDA_HOST_ORDER", host_order, 1);
  const auto a = c10::cuda::getStreamFromPool(false, 0), b = c10::cuda::getStreamFromPool(false, 0);
  std::atomic<bool> ready{false};
  Tensor x;
  std::thread other([&] {
    while (!ready) std::this_thread::yield();
    const c10::cuda::CUDAStreamGuard on(b);
    x.sum();
  });
  {
    const c10::cuda::CUDAStreamGuard on(a);
    x = torch::ones({8}, torch::device(kGpu));
  }
  a.synchronize();
  ready = true;
  other.join();
  std::_Exit((softcudaRaces() > 0) == alarm ? 0 : 1);
}

TEST(Deaths, OneClockForAllThreadsIsTheConservativeChoice) {
  EXPECT_EXIT(hand_over_by_atomic("threads", true), testing::ExitedWithCode(0), "softcuda: race 1");
  EXPECT_EXIT(hand_over_by_atomic("process", false), testing::ExitedWithCode(0), "");
}

void wrong_setting() {
  setenv("SOFTCUDA_RACES", "perhaps", 1);
  torch::ones({4}, torch::device(kGpu));
}

TEST(Deaths, WrongSettingIsNamed) {
  EXPECT_DEATH(wrong_setting(), "softcuda: the setting SOFTCUDA_RACES is 'perhaps'");
}

}  // namespace
