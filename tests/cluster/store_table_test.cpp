#include "shoal/cluster/store_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StoreRequest set(const std::string& key, const std::string& value) {
  return {StoreOp::kSet, {key}, {value}};
}

StoreRequest get(const std::vector<std::string>& keys) { return {StoreOp::kGet, keys, {}}; }

TEST(StoreTable, AnswersOnceAllKeysExist) {
  StoreTable table({});
  EXPECT_EQ(table.apply(get({"a", "b"})), std::nullopt);
  table.apply(set("a", "1"));
  EXPECT_EQ(table.apply(get({"a", "b"})), std::nullopt);
  EXPECT_EQ(table.first_missing(get({"a", "b"}), 0), 1U);
  table.apply(set("b", ""));
  EXPECT_THAT(table.apply(get({"a", "b"}))->texts, ElementsAre("1", ""));
}

TEST(StoreTable, AddsNumbersKeptAsText) {
  StoreTable table({});
  EXPECT_EQ(table.apply({StoreOp::kAdd, {"n"}, {}, 5})->number, 5);
  EXPECT_EQ(table.apply({StoreOp::kAdd, {"n"}, {}, -7})->number, -2);
  EXPECT_THAT(table.apply(get({"n"}))->texts, ElementsAre("-2"));
}

TEST(StoreTable, RefusesToAddToTextOrBeyondTheRange) {
  StoreTable table({});
  table.apply(set("text", "abc"));
  EXPECT_EQ(table.apply({StoreOp::kAdd, {"text"}, {}, 1})->status, StoreStatus::kRefused);
  table.apply({StoreOp::kAdd, {"n"}, {}, INT64_MAX});
  EXPECT_EQ(table.apply({StoreOp::kAdd, {"n"}, {}, 1})->status, StoreStatus::kRefused);
  EXPECT_EQ(table.apply({StoreOp::kAdd, {"n"}, {}, 0})->number, INT64_MAX)
      << "a refusal changes nothing";
}

TEST(StoreTable, ComparesBeforeItSets) {  // the contract of c10d::Store::compareSet
  StoreTable table({});
  EXPECT_THAT(table.apply({StoreOp::kCompareSet, {"k"}, {"x", "new"}})->texts, ElementsAre("x"));
  EXPECT_EQ(table.apply({StoreOp::kCheck, {"k"}, {}})->number, 0);
  EXPECT_THAT(table.apply({StoreOp::kCompareSet, {"k"}, {"", "first"}})->texts,
              ElementsAre("first"));
  EXPECT_THAT(table.apply({StoreOp::kCompareSet, {"k"}, {"wrong", "second"}})->texts,
              ElementsAre("first"));
  EXPECT_THAT(table.apply({StoreOp::kCompareSet, {"k"}, {"first", "second"}})->texts,
              ElementsAre("second"));
}

TEST(StoreTable, AppendsRemovesAndCounts) {
  StoreTable table({});
  table.apply({StoreOp::kAppend, {"log"}, {"a"}});
  table.apply({StoreOp::kAppend, {"log"}, {"bc"}});
  EXPECT_THAT(table.apply(get({"log"}))->texts, ElementsAre("abc"));
  EXPECT_EQ(table.apply({StoreOp::kCount, {}, {}})->number, 1);
  EXPECT_EQ(table.apply({StoreOp::kRemove, {"log"}, {}})->number, 1);
  EXPECT_EQ(table.apply({StoreOp::kRemove, {"log"}, {}})->number, 0);
  EXPECT_EQ(table.apply({StoreOp::kCount, {}, {}})->number, 0);
  table.apply({StoreOp::kSet, {"round/1/a", "round/1/b", "round/11/a"}, {"x", "yy", "z"}});
  EXPECT_EQ(table.apply({StoreOp::kRemoveUnder, {"round/1/"}, {}})->number, 2);
  EXPECT_EQ(table.apply({StoreOp::kRemoveUnder, {"round/1/"}, {}})->number, 0);
  EXPECT_EQ(table.apply({StoreOp::kCount, {}, {}})->number, 1);
}

TEST(StoreTable, NamesSomeOfTheMissingAndCountsThemAll) {
  StoreTable table({});
  StoreRequest wait{StoreOp::kWait, {}, {}};
  for (int rank = 0; rank < 100; ++rank) wait.keys.push_back("rank/" + std::to_string(rank));
  table.apply(set("rank/1", "here"));
  const StoreAnswer answer = table.timed_out(wait);
  EXPECT_EQ(answer.status, StoreStatus::kTimeout);
  EXPECT_EQ(answer.number, 99);
  ASSERT_EQ(answer.texts.size(), 16U);
  EXPECT_EQ(answer.texts[0], "rank/0");
  EXPECT_EQ(answer.texts[1], "rank/2");
}

TEST(StoreTable, AnAnswerIsBoundedHoweverOftenAKeyIsAskedFor) {
  StoreTable table({.max_total_bytes = 100});
  table.apply(set("k", std::string(30, 'v')));
  EXPECT_EQ(table.apply(get({"k", "k", "k"}))->status, StoreStatus::kDone);
  EXPECT_EQ(table.apply(get({"k", "k", "k", "k"}))->status, StoreStatus::kRefused);
}

TEST(StoreTable, IsBounded) {
  StoreTable table(
      {.max_key_bytes = 4, .max_value_bytes = 10, .max_keys = 3, .max_total_bytes = 30});
  EXPECT_THAT(table.apply(set("12345", ""))->texts[0], HasSubstr("a key of 5 bytes, at most 4"));
  EXPECT_THAT(table.apply(set("k", std::string(11, 'x')))->texts[0],
              HasSubstr("a value of 11 bytes"));
  table.apply(set("a", std::string(10, 'x')));
  EXPECT_THAT(table.apply({StoreOp::kAppend, {"a"}, {"y"}})->texts[0],
              HasSubstr("would grow to 11 bytes"));
  table.apply(set("b", std::string(10, 'x')));
  EXPECT_THAT(table.apply(set("c", std::string(8, 'x')))->texts[0],
              HasSubstr("the store is full: 22 bytes"));
  table.apply(set("c", ""));
  EXPECT_THAT(table.apply({StoreOp::kAdd, {"d"}, {}, 1})->texts[0],
              HasSubstr("the store is full: 3 keys"));
  table.apply({StoreOp::kRemove, {"a"}, {}});
  EXPECT_EQ(table.apply(set("c", std::string(8, 'x')))->status, StoreStatus::kDone)
      << "removing makes room";
}

}  // namespace
}  // namespace shoal::cluster
