#include "shoal/core/checksum.h"

#include <string>

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Crc32c, MatchesPublishedVectors) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);            // the check value of the CRC catalogue
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, ContinuesAtEverySplit) {
  std::string bytes;
  for (int i = 0; i < 997; ++i) bytes += static_cast<char>(i * 31 + 7);
  const uint32_t whole = crc32c(bytes);
  for (size_t split = 0; split <= bytes.size(); ++split) {
    const std::string_view view(bytes);
    ASSERT_EQ(crc32c(view.substr(split), crc32c(view.substr(0, split))), whole)
        << "split at " << split;
  }
}

TEST(Xxh3, MatchesPublishedVectors) {
  EXPECT_EQ(xxh3_64(""), 0x2D06800538D394C2U);
  EXPECT_EQ(xxh3_128("").hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Xxh3, SeedChangesEverything) {
  EXPECT_NE(xxh3_128("shoal", 1), xxh3_128("shoal", 2));
  EXPECT_NE(xxh3_128("shoal", 1).low, xxh3_128("shoal", 2).low);
}

TEST(Xxh3Stream, HashesLikeAllBytesAtOnce) {
  std::string bytes;
  for (int i = 0; i < 1511; ++i) bytes += static_cast<char>(i * 31 + 7);
  Xxh3Stream stream;
  EXPECT_EQ(stream.hash(), xxh3_128(""));
  for (const uint64_t seed : {0, 5}) {
    for (size_t split = 0; split <= bytes.size(); split += 7) {
      const std::string_view view(bytes);
      stream.restart(seed);
      stream.add(view.substr(0, split));
      EXPECT_EQ(stream.hash(), xxh3_128(view.substr(0, split), seed));
      stream.add(view.substr(split));
      EXPECT_EQ(stream.hash(), xxh3_128(bytes, seed)) << "split at " << split;
    }
  }
}

}  // namespace
}  // namespace shoal
