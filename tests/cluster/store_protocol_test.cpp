#include "shoal/cluster/store_protocol.h"

#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

TEST(StoreProtocol, RequestsAndAnswersRoundTrip) {
  const StoreRequest request{
      StoreOp::kCompareSet, {std::string("k\0y", 3)}, {"", "value"}, -5, Duration(1234)};
  const auto decoded = StoreRequest::decode(request.encode());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->op, request.op);
  EXPECT_EQ(decoded->keys, request.keys);
  EXPECT_EQ(decoded->values, request.values);
  EXPECT_EQ(decoded->number, -5);
  EXPECT_EQ(decoded->patience, Duration(1234));
  const StoreAnswer answer{StoreStatus::kTimeout, {"a", ""}, 7};
  const auto heard = StoreAnswer::decode(answer.encode());
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->texts, answer.texts);
  EXPECT_EQ(heard->number, 7);
}

TEST(StoreProtocol, RefusesEveryTruncationAndAnythingExtra) {
  const std::string message = StoreRequest{StoreOp::kSet, {"a", "bc"}, {"1", "2"}}.encode();
  for (size_t size = 0; size < message.size(); ++size) {
    ASSERT_FALSE(StoreRequest::decode(message.substr(0, size))) << size;
  }
  EXPECT_FALSE(StoreRequest::decode(message + "x"));
}

TEST(StoreProtocol, RefusesWrongShapesAndUnknownOperations) {
  EXPECT_FALSE(StoreRequest::decode(StoreRequest{StoreOp::kSet, {"a"}, {}}.encode()));
  EXPECT_FALSE(StoreRequest::decode(StoreRequest{StoreOp::kAdd, {}, {}}.encode()));
  EXPECT_FALSE(StoreRequest::decode(StoreRequest{StoreOp::kGet, {"a"}, {"b"}}.encode()));
  EXPECT_FALSE(StoreRequest::decode(StoreRequest{static_cast<StoreOp>(77), {}, {}}.encode()));
}

TEST(StoreProtocol, AnAnswerHasToFitItsRequest) {
  const StoreRequest get{StoreOp::kGet, {"a", "b"}, {}};
  EXPECT_TRUE((StoreAnswer{StoreStatus::kDone, {"1", "2"}}).fits(get));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kDone, {"1"}}).fits(get));
  EXPECT_TRUE((StoreAnswer{StoreStatus::kTimeout, {"b"}, 1}).fits(get));
  EXPECT_TRUE((StoreAnswer{StoreStatus::kTimeout, {"b"}, 2}).fits(get)) << "not all are named";
  EXPECT_FALSE((StoreAnswer{StoreStatus::kTimeout, {"c"}, 1}).fits(get)) << "nobody asked for it";
  EXPECT_FALSE((StoreAnswer{StoreStatus::kTimeout, {"a", "b"}, 1}).fits(get));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kTimeout, {"a", "b"}, 3}).fits(get));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kTimeout, {}, 0}).fits(get));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kTimeout, {"a"}, 1}).fits({StoreOp::kSet, {"a"}, {"1"}}));
  EXPECT_TRUE((StoreAnswer{StoreStatus::kRefused, {"why"}}).fits(get));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kRefused, {}}).fits(get));
  EXPECT_TRUE((StoreAnswer{StoreStatus::kDone, {}, 1}).fits({StoreOp::kCheck, {"a"}, {}}));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kDone, {}, 2}).fits({StoreOp::kCheck, {"a"}, {}}));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kDone, {}, -1}).fits({StoreOp::kCount, {}, {}}));
  EXPECT_FALSE((StoreAnswer{}).fits({StoreOp::kCompareSet, {"a"}, {"", "1"}}));
  EXPECT_FALSE((StoreAnswer{StoreStatus::kDone, {"1"}}).fits({StoreOp::kSet, {"a"}, {"1"}}));
}

TEST(StoreProtocol, ALyingCountCostsNoMemory) {
  std::string message(1, static_cast<char>(StoreOp::kGet));
  message += "\xff\xff\xff\xff";  // 4 billion keys in a message of a few bytes
  message += std::string(100, '\0');
  EXPECT_FALSE(StoreRequest::decode(message));
}

TEST(StoreProtocol, TheTwoProofsAndEveryNonceDiffer) {
  const Secret secret = Secret::random();
  EXPECT_NE(client_proof(secret, "s", "c"), server_proof(secret, "s", "c"))
      << "or a greeting could be reflected";
  EXPECT_NE(client_proof(secret, "s", "c"), client_proof(secret, "S", "c"));
  EXPECT_NE(client_proof(secret, "s", "c"), client_proof(Secret::random(), "s", "c"));
}

}  // namespace
}  // namespace shoal::cluster
