#include "shoal/core/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string log_all_levels(const log::Options& options) {
  ::testing::internal::CaptureStderr();
  log::configure(options);
  log::debug("debug {}", 1);
  log::info("info {}", 2);
  log::warn("warn {}", 3);
  log::error("error {}", 4);
  log::configure({});
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, RankZeroSpeaksForTheJob) {
  const std::string text = log_all_levels({.rank = 0, .world_size = 8});
  EXPECT_THAT(text, Not(HasSubstr("debug 1")));
  EXPECT_THAT(text, HasSubstr("[0] info 2"));
  EXPECT_THAT(text, HasSubstr("[0] warn 3"));
}

TEST(Log, OtherRanksSpeakOnlyWhenSomethingIsWrong) {
  const std::string text = log_all_levels({.rank = 5, .world_size = 8});
  EXPECT_THAT(text, Not(HasSubstr("info 2")));
  EXPECT_THAT(text, HasSubstr("[5] warn 3"));
  EXPECT_THAT(text, HasSubstr("[5] error 4"));
}

TEST(Log, ASwitchLetsEveryRankSpeak) {
  const std::string text =
      log_all_levels({.level = log::Level::kDebug, .rank = 5, .world_size = 8, .all_ranks = true});
  EXPECT_THAT(text, HasSubstr("[5] debug 1"));
  EXPECT_THAT(text, HasSubstr("[5] info 2"));
}

TEST(Log, OneProcessAloneHasNoRankInFront) {
  EXPECT_THAT(log_all_levels({}), Not(HasSubstr("[0]")));
}

TEST(Log, BracesInAValueAreNotAPattern) {
  ::testing::internal::CaptureStderr();
  log::info("{}", "{} {nonsense");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("{} {nonsense"));
}

TEST(Log, WhatOthersWroteCannotSteerATerminalOrForgeALine) {
  ::testing::internal::CaptureStderr();
  log::info("left out: {}", "a\x1b[2J\nE [0] error \u202eb \xff \xc3\xa9");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("left out: a\\x1b[2J\\nE [0] error \\u202eb \xef\xbf\xbd \xc3\xa9\n"));
}

}  // namespace
}  // namespace shoal
