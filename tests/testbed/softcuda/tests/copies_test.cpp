// Allocation and copies through libtorch's own allocator.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace {

const torch::Tensor kNumbers = torch::arange(1000, torch::kFloat);

TEST(Copies, PageableMemoryGoesAndComesBack) {
  const auto there = kNumbers.to(torch::Device("cuda:1"));
  EXPECT_EQ(there.device().str(), "cuda:1");
  EXPECT_TRUE(torch::equal(there.cpu(), kNumbers));
  EXPECT_EQ(there[7].item<float>(), 7);
}

TEST(Copies, PinnedMemoryGoesAsynchronously) {
  const auto pinned = kNumbers.pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  const auto there = pinned.to(torch::Device("cuda:0"), /*non_blocking=*/true);
  EXPECT_TRUE(torch::equal(there.cpu(), kNumbers));
}

TEST(Copies, OneDeviceGivesToAnother) {
  const auto there = kNumbers.to(torch::Device("cuda:0"));
  EXPECT_TRUE(torch::equal(there.to(torch::Device("cuda:2")).cpu(), kNumbers));
  const auto turned = there.view({10, 100}).t().to(torch::Device("cuda:3"));
  EXPECT_TRUE(torch::equal(turned.cpu(), kNumbers.view({10, 100}).t()));
}

TEST(Copies, TypesChangeOnTheWay) {
  const auto there = torch::empty({1000}, torch::device(torch::kCUDA).dtype(torch::kBFloat16));
  there.copy_(kNumbers);
  EXPECT_TRUE(torch::equal(there.cpu(), kNumbers.to(torch::kBFloat16)));
}

TEST(Copies, CachingAllocatorKnowsWhatItGave) {
  using c10::cuda::CUDACachingAllocator::getDeviceStats;
  const auto allocated = [] { return getDeviceStats(1).allocated_bytes[0].current; };
  const auto before = allocated();
  const auto there = torch::empty({1 << 20}, torch::device({torch::kCUDA, 1}));
  EXPECT_EQ(allocated() - before, 4 << 20);
}

}  // namespace
