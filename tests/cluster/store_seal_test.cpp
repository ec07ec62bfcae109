#include "shoal/cluster/store_seal.h"

#include <gtest/gtest.h>

#include "shoal/core/format.h"

namespace shoal::cluster {
namespace {

class StoreSealTest : public ::testing::Test {
 protected:
  StoreSeal made(StoreDirection direction) const { return {secret_, direction, server_, client_}; }

  const Secret secret_ = Secret::random();
  const std::string server_ = random_bytes(kNonceBytes);
  const std::string client_ = random_bytes(kNonceBytes);
  StoreSeal sends_ = made(StoreDirection::kRequests);
  StoreSeal hears_ = made(StoreDirection::kRequests);
};

TEST_F(StoreSealTest, FramesOpenInTheirOrder) {
  for (const std::string message : {"first", "", "third"}) {
    const std::string frame = sends_.seal(message);
    EXPECT_EQ(frame.size(), frame_bytes(message.size()));
    EXPECT_EQ(message_bytes(frame), message.size());
    EXPECT_EQ(hears_.open(frame), message);
  }
}

// The second answer "hi" with key 32 x 0xaa and such nonces, as docs/store.md describes it: computed
// with Python's hmac and hashlib.
TEST_F(StoreSealTest, AFrameIsWhatTheDocumentSays) {
  StoreSeal answers(Secret::from_hex(std::string(64, 'a')), StoreDirection::kAnswers,
                    std::string(kNonceBytes, 's'), std::string(kNonceBytes, 'c'));
  answers.seal("first");
  std::string hex;
  for (const char c : answers.seal("hi")) hex += format("{:02x}", static_cast<unsigned char>(c));
  EXPECT_EQ(hex,
            "020000006869"
            "05cabb2c158e0c2031ba54687a3c2153154950d4d218f58131992c8537811b39");
}

TEST_F(StoreSealTest, NoBitOfAFrameCanBeChanged) {
  const std::string frame = sends_.seal("eleven byte");
  for (size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    std::string changed = frame;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(hears_.open(changed)) << bit;
  }
  for (size_t size = 0; size < frame.size(); ++size)
    ASSERT_FALSE(hears_.open(frame.substr(0, size)));
  EXPECT_FALSE(hears_.open(frame + "x"));
  EXPECT_EQ(hears_.open(frame), "eleven byte") << "what was refused has not been counted";
}

TEST_F(StoreSealTest, NoFrameFitsAnotherPlace) {
  const std::string first = sends_.seal("same");
  const std::string second = sends_.seal("same");
  EXPECT_FALSE(hears_.open(second)) << "reordered, or the first was lost";
  EXPECT_TRUE(hears_.open(first));
  EXPECT_FALSE(hears_.open(first)) << "replayed";
  EXPECT_TRUE(hears_.open(second));
}

TEST_F(StoreSealTest, NoFrameFitsAnotherDirectionConnectionOrJob) {
  const std::string frame = sends_.seal("message");
  const StoreDirection requests = StoreDirection::kRequests;
  EXPECT_TRUE(made(requests).open(frame));
  EXPECT_FALSE(made(StoreDirection::kAnswers).open(frame)) << "reflected";
  EXPECT_FALSE(StoreSeal(secret_, requests, random_bytes(kNonceBytes), client_).open(frame));
  EXPECT_FALSE(StoreSeal(secret_, requests, server_, random_bytes(kNonceBytes)).open(frame));
  EXPECT_FALSE(StoreSeal(secret_, requests, client_, server_).open(frame));
  EXPECT_FALSE(StoreSeal(Secret::random(), requests, server_, client_).open(frame));
}

}  // namespace
}  // namespace shoal::cluster
