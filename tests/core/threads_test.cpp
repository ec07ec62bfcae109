#include "shoal/core/threads.h"

#include <atomic>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/even_parts.h"

namespace shoal {
namespace {

TEST(RunOnThreads, CallsEachNumberOnceAndWaits) {
  std::atomic<uint64_t> seen = 0;
  run_on_threads(7, [&](int number) { seen += uint64_t{1} << (8 * number); });
  EXPECT_EQ(seen, 0x01010101010101U);
  run_on_threads(0, [](int) { FAIL(); });
}

TEST(RunOnThreads, ThrowsTheFailureWithTheSmallestNumberAfterAllHaveEnded) {
  std::atomic<int> ended = 0;
  EXPECT_THAT(([&] {
                run_on_threads(5, [&](int number) {
                  ++ended;
                  if (number % 2 == 1) throw std::runtime_error(std::to_string(number));
                });
              }),
              ::testing::ThrowsMessage<std::runtime_error>("1"));
  EXPECT_EQ(ended, 5);
}

TEST(EvenParts, CoverEverythingAndDifferByOne) {
  for (const uint64_t all : {0U, 1U, 7U, 29U, 1000U}) {
    for (const uint64_t count : {1U, 2U, 3U, 8U, 31U}) {
      EXPECT_EQ(even_part_begin(all, 0, count), 0U);
      EXPECT_EQ(even_part_begin(all, count, count), all);
      for (uint64_t index = 0; index < count; ++index) {
        const uint64_t size =
            even_part_begin(all, index + 1, count) - even_part_begin(all, index, count);
        EXPECT_GE(size, all / count);
        EXPECT_LE(size, all / count + 1);
      }
    }
  }
}

}  // namespace
}  // namespace shoal
