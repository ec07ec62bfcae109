#include "shoal/plan/rank_clock.h"

#include <gtest/gtest.h>

namespace shoal::plan {
namespace {

constexpr StreamId kGathers{.axes = Axis::kDpShard};
constexpr StreamId kTransfers{.axes = Axis::kPp};
constexpr double kNear = 1e-12;

config::ClusterConfig cluster_of(double launch_us) {
  config::ClusterConfig cluster;
  cluster.device.launch_us = launch_us;
  return cluster;
}

TEST(RankClock, AHostThatIsFastEnoughIsHidden) {
  RankClock clock(cluster_of(10));
  for (int i = 0; i < 5; ++i) clock.compute({.products = 300e-6, .launches = 17});
  EXPECT_NEAR(clock.now(), 1500e-6, kNear);
  EXPECT_EQ(clock.step().launches, 85);
  EXPECT_EQ(clock.step().by(Spent::kLaunches), 0);
}

// The head start that the host has gained during a long function is used up by short ones.
TEST(RankClock, AHostThatIsTooSlowHoldsItsDeviceUp) {
  RankClock clock(cluster_of(10));
  clock.compute({.products = 500e-6, .launches = 1});
  for (int i = 0; i < 7; ++i) clock.compute({.memory = 20e-6, .launches = 10});
  EXPECT_NEAR(clock.now(), 710e-6, kNear);
  EXPECT_NEAR(clock.step().by(Spent::kLaunches), 70e-6, kNear);
}

TEST(RankClock, WithoutAQueueEveryLaunchCounts) {
  config::ClusterConfig cluster = cluster_of(10);
  cluster.device.queued = false;
  RankClock clock(cluster);
  for (int i = 0; i < 5; ++i) clock.compute({.products = 300e-6, .launches = 17});
  EXPECT_NEAR(clock.now(), 5 * 470e-6, kNear);
}

// 10 ms of work beside 4 ms of communication, which take a fifth of the device.
TEST(RankClock, CommunicationSlowsTheComputationBesideIt) {
  config::ClusterConfig cluster = cluster_of(0);
  cluster.network.device_share = 0.2;
  RankClock clock(cluster);
  EXPECT_NEAR(clock.start(kGathers, {{.seconds = 4e-3, .link = Link::kNetwork}}, Spent::kOther),
              4e-3, kNear);
  clock.compute({.products = 10e-3});
  EXPECT_NEAR(clock.now(), 10.8e-3, kNear);
  EXPECT_NEAR(clock.step().by(Spent::kSlowed), 0.8e-3, kNear);
  clock.compute({.products = 10e-3});
  EXPECT_NEAR(clock.now(), 20.8e-3, kNear);
  // Work that ends before the communication does.
  clock.start(kGathers, {{.seconds = 100e-3, .link = Link::kNetwork}}, Spent::kOther);
  clock.compute({.products = 8e-3});
  EXPECT_NEAR(clock.now(), 30.8e-3, kNear);
}

TEST(RankClock, CallsOfOneStreamRunOneAfterTheOther) {
  RankClock clock(cluster_of(0));
  clock.start(kGathers, {{.seconds = 3e-3, .link = Link::kNode}}, Spent::kOther);
  EXPECT_NEAR(clock.start(kGathers, {{.seconds = 2e-3, .link = Link::kNode}}, Spent::kOther), 5e-3,
              kNear);
}

TEST(RankClock, TwoStreamsShareOneLink) {
  RankClock clock(cluster_of(0));
  clock.start(kGathers, {{.seconds = 3e-3, .link = Link::kNetwork}}, Spent::kOther);
  // Two of its three milliseconds are done when the gather ends.
  EXPECT_NEAR(clock.start(kTransfers, {{.seconds = 3e-3, .link = Link::kNetwork}}, Spent::kOther),
              4.5e-3, kNear);
  // The links of the node are free.
  EXPECT_NEAR(
      clock.start({.axes = Axis::kTp}, {{.seconds = 2e-3, .link = Link::kNode}}, Spent::kOther),
      2e-3, kNear);
}

TEST(RankTime, InWordsHasTheLargestFirst) {
  RankTime time{.seconds = 10};
  time.spent = {2.1, 0, 0, 0, 0, 6.2, 0, 0.05, 1.65, 0};
  EXPECT_EQ(shares_in_words(time),
            "62 % calls of the tensor group, 21 % products, 16 % waiting for other stages");
}

TEST(RankClock, ANewStepCountsAnew) {
  RankClock clock(cluster_of(1));
  clock.compute({.products = 1, .launches = 3});
  clock.begin_step();
  clock.wait_until(1.5, Spent::kPipeline);
  EXPECT_EQ(clock.step().launches, 0);
  EXPECT_NEAR(clock.step().seconds, 0.5, kNear);
}

}  // namespace
}  // namespace shoal::plan
