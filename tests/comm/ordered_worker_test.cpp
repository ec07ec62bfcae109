#include "shoal/comm/ordered_worker.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_text.h"

namespace shoal::comm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST(OrderedWorker, RunsCallsInTheOrderTheyWereAsked) {
  std::vector<int> seen;  // written by the worker's thread, read when all works are done
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  OrderedWorker worker("test", nullptr);
  for (int i = 0; i < 1009; ++i) works.push_back(worker.run({}, [&seen, i] { seen.push_back(i); }));
  // Another thread than the caller's may wait.
  std::thread waiter([&works] {
    for (size_t i = works.size(); i-- > 0;) works[i]->wait(10s);
  });
  waiter.join();
  ASSERT_EQ(seen.size(), 1009U);
  for (int i = 0; i < 1009; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(OrderedWorker, WhatACallWritesIsSeenByWhoWaitsForIt) {
  OrderedWorker worker("test", nullptr);
  at::Tensor sum = at::zeros({317});
  for (int round = 0; round < 101; ++round) {
    worker.run({sum}, [sum] { sum.add_(1); })->wait(10s);
    EXPECT_EQ(sum[316].item<float>(), static_cast<float>(round + 1));
  }
}

TEST(OrderedWorker, AnErrorArrivesWhereItsWorkIsWaitedForAndStopsNoOther) {
  OrderedWorker worker("test", nullptr);
  const auto fails = worker.run({}, [] { throw std::runtime_error("no such peer"); });
  bool ran = false;
  const auto works = worker.run({}, [&ran] { ran = true; });
  EXPECT_EQ(tests::error_text<std::runtime_error>([&] { fails->wait(10s); }), "no such peer");
  works->wait(10s);
  EXPECT_TRUE(ran);
}

TEST(OrderedWorker, KeepsTensorsUntilTheCallIsOver) {
  OrderedWorker worker("test", nullptr);
  std::promise<void> go;
  at::Tensor tensor = at::ones({7});
  const c10::weak_intrusive_ptr<c10::TensorImpl> watched(tensor.getIntrusivePtr());
  const auto work = worker.run({std::move(tensor)}, [&go] { go.get_future().wait(); });
  tensor.reset();
  EXPECT_FALSE(watched.expired());
  go.set_value();
  work->wait(10s);
  EXPECT_TRUE(watched.expired());
}

TEST(OrderedWorker, WaitsForWhatIsQueuedAtItsEnd) {
  std::atomic<int> done = 0;
  {
    OrderedWorker worker("test", nullptr);
    for (int i = 0; i < 53; ++i) worker.run({}, [&done] { ++done; });
  }
  EXPECT_EQ(done, 53);
}

}  // namespace
}  // namespace shoal::comm
