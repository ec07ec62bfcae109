// A task that fails makes its device fail, and the device stays so. Each test forks.
#include <cstdlib>

#include <cuda_runtime_api.h>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "gpu.h"
#include "softcuda.h"

namespace {

// Ends the process with 0 when `condition` holds, so that EXPECT_EXIT can ask for both the code and the report.
[[noreturn]] void end(bool condition) { std::_Exit(condition ? 0 : 1); }

[[noreturn]] void fail_by_setting() {
  setenv("SOFTCUDA_FAIL", "0:aten::mm:2", 1);
  const auto x = torch::ones({4, 4}, torch::device(kGpu));
  bool first_was_right = x.mm(x).sum().item<float>() == 64;
  bool thrown = false;
  try {
    x.mm(x).sum().item<float>();
  } catch (const c10::Error&) {
    thrown = true;
  }
  void* p = nullptr;
  const bool stays = cudaDeviceSynchronize() == cudaErrorIllegalAddress &&
                     cudaMalloc(&p, 1) == cudaErrorIllegalAddress &&
                     cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress &&
                     cudaGetLastError() == cudaErrorIllegalAddress &&
                     cudaGetLastError() == cudaErrorIllegalAddress;
  end(first_was_right && thrown && stays);
}

TEST(Errors, FailureBySettingStays) {
  EXPECT_EXIT(fail_by_setting(), testing::ExitedWithCode(0),
              "softcuda: aten::mm failed on GPU 0 with cudaErrorIllegalAddress: asked for by "
              "SOFTCUDA_FAIL");
}

[[noreturn]] void spoil_by_setting() {
  setenv("SOFTCUDA_SPOIL", "0:aten::mm:2", 1);
  const auto x = torch::ones({4, 4}, torch::device(kGpu));
  const float first = x.mm(x).sum().item<float>();
  const float second = x.mm(x).sum().item<float>();
  const float third = x.mm(x).sum().item<float>();
  end(first == 64 && second == 0 && third == 64 && cudaDeviceSynchronize() == cudaSuccess);
}

TEST(Errors, SpoiltResultsAreZerosAndNobodyIsTold) {
  EXPECT_EXIT(spoil_by_setting(), testing::ExitedWithCode(0), "^$");
}

[[noreturn]] void other_devices_go_on() {
  setenv("SOFTCUDA_FAIL", "1:aten::mm:1", 1);
  const auto zero = torch::ones({4, 4}, torch::device(kGpu));
  const auto one = torch::ones({4, 4}, torch::device(torch::Device("cuda:1")));
  one.mm(one);
  cudaSetDevice(1);
  const cudaError_t failed = cudaDeviceSynchronize();
  cudaSetDevice(0);
  end(failed == cudaErrorIllegalAddress && zero.mm(zero).sum().item<float>() == 64);
}

TEST(Errors, OtherDevicesGoOn) {
  EXPECT_EXIT(other_devices_go_on(), testing::ExitedWithCode(0), "aten::mm failed on GPU 1");
}

[[noreturn]] void index_out_of_range() {
  const auto x = torch::ones({4}, torch::device(kGpu));
  const auto index = torch::tensor({7}, torch::device(kGpu).dtype(torch::kLong));
  const auto taken = x.index_select(0, index);
  end(cudaDeviceSynchronize() == cudaErrorAssert);
}

TEST(Errors, IndexOutOfRangeIsAnAssertOfTheDevice) {
  EXPECT_EXIT(index_out_of_range(), testing::ExitedWithCode(0),
              "softcuda: aten::index_select failed on GPU 0 with cudaErrorAssert: ");
}

void nothing(void*) {}

[[noreturn]] void touch_freed_memory() {
  void* p = nullptr;
  cudaMalloc(&p, 64);
  cudaFree(p);
  const SoftcudaRange range{p, 64, 1, "self"};
  softcudaLaunch(nullptr, "a kernel", &range, 1, nothing, nothing, nullptr);
  end(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

TEST(Errors, FreedMemoryIsAnIllegalAddress) {
  EXPECT_EXIT(touch_freed_memory(), testing::ExitedWithCode(0),
              "softcuda: a kernel failed on GPU 0 with cudaErrorIllegalAddress: self is memory "
              "that is not allocated");
}

}  // namespace
