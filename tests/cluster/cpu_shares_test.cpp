#include "shoal/cluster/cpu_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two NUMA nodes with `cores` cores each; the second CPU of a core has a number far from the first.
std::vector<Cpu> host_of(int cores) {
  std::vector<Cpu> cpus;
  for (int number = 0; number < 4 * cores; ++number) {
    const int core = number % (2 * cores);
    cpus.push_back({number, core / cores, core});
  }
  return cpus;
}

TEST(CpuShares, KeepToANumaNodeAndToWholeCores) {
  EXPECT_THAT(cpu_shares(host_of(2), 4), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5),
                                                     ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_THAT(cpu_shares(host_of(2), 2),
              ElementsAre(ElementsAre(0, 1, 4, 5), ElementsAre(2, 3, 6, 7)));
}

TEST(CpuShares, DifferByOneAtMost) {
  const auto shares = cpu_shares(host_of(2), 3);
  ASSERT_EQ(shares.size(), 3U);
  std::vector<size_t> sizes;
  for (const std::vector<int>& share : shares) sizes.push_back(share.size());
  EXPECT_THAT(sizes, ElementsAre(2, 3, 3));
}

TEST(CpuShares, OneCpuIsTooFewToBindTo) {
  EXPECT_THAT(cpu_shares(host_of(2), 5), IsEmpty());
  EXPECT_THAT(cpu_shares({}, 1), IsEmpty());
  EXPECT_THAT(cpu_shares(host_of(1), 0), IsEmpty());
}

TEST(CpuShares, ThisHostHasCpus) { EXPECT_FALSE(allowed_cpus().empty()); }

}  // namespace
}  // namespace shoal::cluster
