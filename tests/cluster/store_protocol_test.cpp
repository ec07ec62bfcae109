#include "shoal/cluster/store_protocol.h"

#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

std::string without_length(const std::string& framed) { return framed.substr(4); }

TEST(StoreProtocol, RequestsAndAnswersRoundTrip) {
  const StoreRequest request{
      StoreOp::kCompareSet, {std::string("k\0y", 3)}, {"", "value"}, -5, Duration(1234)};
  const auto decoded = StoreRequest::decode(without_length(request.encode()));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->op, request.op);
  EXPECT_EQ(decoded->keys, request.keys);
  EXPECT_EQ(decoded->values, request.values);
  EXPECT_EQ(decoded->number, -5);
  EXPECT_EQ(decoded->patience, Duration(1234));
  const StoreAnswer answer{StoreStatus::kTimeout, {"a", ""}, 7};
  const auto heard = StoreAnswer::decode(without_length(answer.encode()));
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->texts, answer.texts);
  EXPECT_EQ(heard->number, 7);
}

TEST(StoreProtocol, RefusesEveryTruncationAndAnythingExtra) {
  const std::string message =
      without_length(StoreRequest{StoreOp::kSet, {"a", "bc"}, {"1", "2"}}.encode());
  for (size_t size = 0; size < message.size(); ++size) {
    ASSERT_FALSE(StoreRequest::decode(message.substr(0, size))) << size;
  }
  EXPECT_FALSE(StoreRequest::decode(message + "x"));
}

TEST(StoreProtocol, RefusesWrongShapesAndUnknownOperations) {
  EXPECT_FALSE(
      StoreRequest::decode(without_length(StoreRequest{StoreOp::kSet, {"a"}, {}}.encode())));
  EXPECT_FALSE(StoreRequest::decode(without_length(StoreRequest{StoreOp::kAdd, {}, {}}.encode())));
  EXPECT_FALSE(
      StoreRequest::decode(without_length(StoreRequest{StoreOp::kGet, {"a"}, {"b"}}.encode())));
  EXPECT_FALSE(StoreRequest::decode(
      without_length(StoreRequest{static_cast<StoreOp>(77), {}, {}}.encode())));
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
