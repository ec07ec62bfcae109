#include "shoal/core/quantities.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using std::chrono::milliseconds;

TEST(Bytes, ParsesWhatPeopleWrite) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 1610612736);
  EXPECT_EQ(parse_bytes("64MiB"), 67108864);
  EXPECT_EQ(parse_bytes(" 2 kB "), 2000);
}

TEST(Bytes, RefusesWhatIsNotASize) {
  for (const char* text : {"", " ", "GiB", "-1", "1e3", "1,5 GiB", "5 gib", "0x10", "1.3",
                           "9999999 PiB", "nan", "1 2"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Bytes, PrintsThreeSignificantPlaces) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1610612736), "1.50 GiB");
  EXPECT_EQ(format_bytes(int64_t{3} << 60), "3072.00 PiB");
}

TEST(Count, ParsesAndPrints) {
  EXPECT_EQ(parse_count("100M"), 100'000'000);
  EXPECT_EQ(parse_count("1.5k"), 1500);
  EXPECT_EQ(parse_count("1M1"), std::nullopt);
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(124'439'808), "124.4M");
}

TEST(Duration, ParsesWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("0"), milliseconds(0));
  EXPECT_EQ(parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(parse_duration("2m30s"), milliseconds(150'000));
  EXPECT_EQ(parse_duration("0.5s"), milliseconds(500));
  EXPECT_EQ(parse_duration("1d"), milliseconds(86'400'000));
}

TEST(Duration, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "10", "s", "-1s", "30s2m", "1h1h", "1 week", "1e9s", "inf", "99999999999999999d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Duration, PrintsWhatItParses) {
  for (const int64_t ms : {0, 1, 999, 1000, 61'001, 3'600'000, 90'061'001}) {
    EXPECT_EQ(parse_duration(format_duration(milliseconds(ms))), milliseconds(ms));
  }
  EXPECT_EQ(format_duration(milliseconds(150'000)), "2m30s");
}

}  // namespace
}  // namespace shoal
