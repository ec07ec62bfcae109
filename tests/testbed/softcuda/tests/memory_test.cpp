// The runtime's memory without libtorch: limits, information, what is where.
#include <vector>

#include <cuda_runtime_api.h>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace {

constexpr size_t kMega = 1 << 20;

size_t free_memory() {
  size_t free_bytes = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_EQ(total, 512 * kMega);
  return free_bytes;
}

TEST(Memory, InformationFollowsAllocations) {
  const size_t before = free_memory();
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 3 * kMega), cudaSuccess);
  EXPECT_EQ(before - free_memory(), 3 * kMega);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(free_memory(), before);
}

TEST(Memory, LimitIsPerDevice) {
  void *first = nullptr, *second = nullptr, *elsewhere = nullptr;
  ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&first, 400 * kMega), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 200 * kMega), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&elsewhere, 200 * kMega), cudaSuccess);
  cudaFree(elsewhere);
  cudaFree(first);
  cudaSetDevice(0);
}

TEST(Memory, LibtorchSaysOutOfMemory) {
  const auto options = torch::device({torch::kCUDA, 3});
  EXPECT_THROW(torch::empty({600 << 20}, options.dtype(torch::kByte)), c10::OutOfMemoryError);
  EXPECT_EQ(torch::ones({2}, options).sum().item<float>(), 2);
}

TEST(Memory, PointersHaveTheirPlace) {
  void *device = nullptr, *pinned = nullptr;
  int pageable = 0;
  cudaPointerAttributes attributes;
  cudaMalloc(&device, 100);
  cudaMallocHost(&pinned, 100);
  cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 99);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&attributes, pinned);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&attributes, &pageable);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  cudaFreeHost(pinned);
  cudaFree(device);
}

TEST(Memory, CopiesStayInsideTheirBlocks) {
  void* p = nullptr;
  std::vector<char> host(200);
  cudaMalloc(&p, 100);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 100, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 101, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(static_cast<char*>(p) + 8), cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFree(p);
}

TEST(Memory, NewMemoryIsNotANumber) {
  c10::cuda::CUDACachingAllocator::emptyCache();
  const auto fresh = torch::empty({3 << 20}, torch::device({torch::kCUDA, 3}));
  EXPECT_TRUE(fresh.isnan().all().item<bool>());
}

TEST(Memory, RegisteredMemoryIsPinned) {
  std::vector<float> host(1000, 3);
  ASSERT_EQ(cudaHostRegister(host.data(), 4000, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data(), 4000, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_TRUE(torch::from_blob(host.data(), {1000}).is_pinned());
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  cudaGetLastError();
}

}  // namespace
