// Waits between streams, present and forgotten. A forgotten one is a race in every run, whatever the numbers are.
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "gpu.h"
#include "softcuda.h"

namespace {

using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;
using torch::Tensor;

// The races that `act` makes, between two waits for the device.
unsigned long races(const std::function<void()>& act) {
  c10::cuda::device_synchronize();
  const unsigned long before = softcudaRaces();
  act();
  const unsigned long found = softcudaRaces() - before;
  c10::cuda::device_synchronize();
  return found;
}

Tensor numbers() {
  const auto made = torch::randn({64, 64}, torch::device(kGpu));
  c10::cuda::device_synchronize();
  return made;
}

void make_wait(const CUDAStream& second, const CUDAStream& first) {
  at::cuda::CUDAEvent event;
  event.record(first);
  event.block(second);
}

class Streams : public testing::Test {
 protected:
  const CUDAStream a = c10::cuda::getStreamFromPool(false, 0);
  const CUDAStream b = c10::cuda::getStreamFromPool(false, 0);

  Tensor square_on(const CUDAStream& stream, const Tensor& x) {
    const CUDAStreamGuard on(stream);
    return x.mm(x);
  }
  Tensor sum_on(const CUDAStream& stream, const Tensor& x) {
    const CUDAStreamGuard on(stream);
    return x.sum();
  }
};

TEST_F(Streams, EventOrders) {
  const auto x = numbers();
  EXPECT_EQ(races([&] {
              const auto y = square_on(a, x);
              make_wait(b, a);
              const auto sum = sum_on(b, y);
              b.synchronize();
              EXPECT_NEAR(sum.item<float>(), x.mm(x).sum().item<float>(), 1e-2);
            }),
            0);
}

TEST_F(Streams, ForgottenEventIsARace) {
  const auto x = numbers();
  EXPECT_GT(races([&] { sum_on(b, square_on(a, x)); }), 0);
}

TEST_F(Streams, RecordStreamKeepsMemory) {
  const auto use = [&](bool record) {
    const auto x = numbers();
    return races([&] {
      const CUDAStreamGuard on(a);
      auto y = x.mm(x);
      make_wait(b, a);
      sum_on(b, y);
      if (record) y.record_stream(b);
      y.reset();
      torch::zeros({64, 64}, torch::device(kGpu));  // the allocator gives the same memory again
    });
  };
  EXPECT_EQ(use(true), 0);
  EXPECT_GT(use(false), 0);
}

TEST_F(Streams, OtherDevicesHaveStreamsToo) {
  const auto x = numbers();
  const auto side = c10::cuda::getStreamFromPool(false, 1);
  const auto use = [&](bool wait) {
    return races([&] {
      const auto there = x.to(torch::Device("cuda:1"));
      if (wait) make_wait(side, c10::cuda::getCurrentCUDAStream(1));
      sum_on(side, there);
    });
  };
  EXPECT_EQ(use(true), 0);
  EXPECT_GT(use(false), 0);
}

// Raw streams of the runtime: libtorch's own do not block.

class Legacy : public testing::Test {
 protected:
  void SetUp() override { cudaMalloc(&memory, 4096); }
  void TearDown() override {
    cudaDeviceSynchronize();
    cudaFree(memory);
  }
  // Fills the memory on one stream, then on the other.
  unsigned long fill(cudaStream_t first, cudaStream_t second) {
    return races([&] {
      cudaMemsetAsync(memory, 1, 4096, first);
      cudaMemsetAsync(memory, 2, 4096, second);
    });
  }
  static cudaStream_t made(unsigned flags) {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, flags);
    return stream;
  }
  void* memory = nullptr;
};

TEST_F(Legacy, DefaultStreamWaitsForBlockingStreamsAndTheyForIt) {
  const cudaStream_t blocking = made(cudaStreamDefault);
  EXPECT_EQ(fill(blocking, nullptr), 0);
  EXPECT_EQ(fill(nullptr, blocking), 0);
  EXPECT_EQ(fill(cudaStreamPerThread, nullptr), 0);
}

TEST_F(Legacy, StreamsThatDoNotBlockAreExempt) {
  const cudaStream_t free_stream = made(cudaStreamNonBlocking);
  EXPECT_GT(fill(free_stream, nullptr), 0);
  EXPECT_GT(fill(nullptr, free_stream), 0);
  EXPECT_GT(fill(made(cudaStreamDefault), made(cudaStreamDefault)), 0);
}

TEST_F(Legacy, TheOrderIsRealAndNotOnlyInTheClocks) {
  const cudaStream_t blocking = made(cudaStreamDefault);
  std::atomic<bool> may_go{false};
  cudaLaunchHostFunc(
      blocking, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &may_go);
  cudaMemsetAsync(memory, 1, 4096, nullptr);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  may_go = true;
  may_go.notify_all();
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  cudaGetLastError();
}

// Host threads: what one has waited for the other knows only when it was told.

class HostThreads : public Streams {
 protected:
  // The work of stream a is used on stream b by another thread, after this one has waited for a.
  template <class Tell, class Hear>
  unsigned long hand_over(const Tell& tell, const Hear& hear) {
    const auto x = numbers();
    Tensor y;
    return races([&] {
      std::thread other([&] {
        hear();
        sum_on(b, y);
      });
      y = square_on(a, x);
      a.synchronize();
      tell();
      other.join();
    });
  }
};

TEST_F(HostThreads, MutexHandsOn) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  EXPECT_EQ(hand_over(
                [&] {
                  std::lock_guard lock(mutex);
                  ready = true;
                  changed.notify_all();
                },
                [&] {
                  std::unique_lock lock(mutex);
                  changed.wait(lock, [&] { return ready; });
                }),
            0);
}

TEST_F(HostThreads, NewThreadKnowsWhatItsMakerKnew) {
  const auto x = numbers();
  EXPECT_EQ(races([&] {
              const auto y = square_on(a, x);
              a.synchronize();
              std::thread([&] { sum_on(b, y); }).join();
            }),
            0);
}

// The documented false alarm: atomic variables are not seen.
TEST_F(HostThreads, AtomicVariableDoesNotHandOn) {
  std::atomic<bool> ready{false};
  EXPECT_GT(hand_over([&] { ready = true; },
                      [&] {
                        while (!ready) std::this_thread::yield();
                      }),
            0);
}

}  // namespace
