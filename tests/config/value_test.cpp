#include "shoal/config/value.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/comm_config.h"
#include "shoal/config/yaml_reader.h"

namespace shoal::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

YamlNode node_of(const std::string& yaml) {
  const Document document = parse_yaml(yaml, "test.yaml");
  EXPECT_TRUE(document.problems.empty()) << report(yaml, document.problems);
  return document.root;
}

template <class T>
T read(const std::string& yaml) {
  T value{};
  const Verdict refusal = read_value(node_of(yaml), value);
  EXPECT_FALSE(refusal) << yaml << " was refused: " << refusal->what;
  return value;
}

// "what -> hint"
template <class T>
std::string refused(const std::string& yaml) {
  T value{};
  const Verdict refusal = read_value(node_of(yaml), value);
  EXPECT_TRUE(value == T{}) << "a refused value must leave its place alone";
  return refusal ? refusal->what + " -> " + refusal->hint : "taken";
}

TEST(Value, ReadsEveryType) {
  EXPECT_TRUE(read<bool>("true"));
  EXPECT_FALSE(read<bool>("false"));
  EXPECT_EQ(read<int>("-2147483648"), std::numeric_limits<int>::min());
  EXPECT_EQ(read<int64_t>("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(read<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(read<double>("1e-4"), 1e-4);
  EXPECT_EQ(read<double>("3"), 3.0);
  EXPECT_EQ(read<std::string>("a b"), "a b");
  EXPECT_EQ(read<std::string>("007"), "007") << "what a text field holds is text";
  EXPECT_EQ(read<std::string>("\"\""), "");
  EXPECT_EQ(read<Duration>("1h30m"), std::chrono::minutes(90));
  EXPECT_EQ(read<Bytes>("64 MiB"), Bytes{64 << 20});
  EXPECT_EQ(read<Backend>("nccl"), Backend::kNccl);
  EXPECT_EQ(read<std::optional<int>>("auto"), std::nullopt);
  EXPECT_EQ(read<std::optional<int>>("3"), 3);
  EXPECT_EQ(read<std::optional<std::string>>("\"auto\""), "auto");
  EXPECT_THAT(read<std::vector<int>>("[1, 2]"), ElementsAre(1, 2));
  EXPECT_THAT(read<std::vector<std::string>>("[]"), ElementsAre());
}

TEST(Value, IntegersAreDecimalDigitsAndFit) {
  EXPECT_EQ(refused<int>("0x10"), "0x10 is not a whole number in plain digits -> write 16");
  EXPECT_EQ(refused<int>("1_000"), "1_000 is not a whole number in plain digits -> write 1000");
  EXPECT_EQ(refused<int>("3.0"), "3.0 is not a whole number in plain digits -> write 3");
  EXPECT_EQ(refused<int>("1e3"), "1e3 is not a whole number in plain digits -> write 1000");
  EXPECT_EQ(refused<int>("8k"), "8k is not a whole number in plain digits -> write 8000");
  EXPECT_EQ(refused<int>("+5"), "+5 is not a whole number in plain digits -> write 5");
  EXPECT_THAT(refused<int>("010"), HasSubstr("write 10: some readers take a leading 0 for octal"));
  EXPECT_EQ(refused<int>("3.5"), "3.5 is not a whole number in plain digits -> ");
  EXPECT_EQ(refused<int>("1,5"), "\"1,5\" is not a whole number in plain digits -> ");
  EXPECT_EQ(refused<int>("inf"), "inf is not a whole number in plain digits -> ");
  EXPECT_EQ(refused<int>("2147483648"),
            "2147483648 is more than 2147483647, the largest value -> ");
  EXPECT_EQ(refused<uint64_t>("-1"), "-1 is less than 0, the smallest value -> ");
  EXPECT_THAT(refused<uint64_t>("18446744073709551616"),
              HasSubstr("is more than 18446744073709551615"));
  EXPECT_EQ(refused<int>("'8'"),
            "8 is in quotes, which makes it text, not a whole number -> write 8 without quotes");
}

TEST(Value, NumbersAreFiniteAndFit) {
  for (const char* text :
       {".inf", "inf", "nan", ".NaN", "1_0", "0x1p3", "1e", "-", "1.2.3", "infinity"}) {
    EXPECT_THAT(refused<double>(text), HasSubstr("is not a number")) << text;
  }
  EXPECT_EQ(refused<double>("1e999"), "1e999 does not fit into a double -> ");
  EXPECT_EQ(refused<double>("1e-999"), "1e-999 does not fit into a double -> ");
}

TEST(Value, BoolsAreTrueAndFalseOnly) {
  for (const char* text : {"yes", "Yes", "on", "True", "TRUE", "1", "y"}) {
    EXPECT_THAT(refused<bool>(text), HasSubstr("is not true or false -> write true")) << text;
  }
  for (const char* text : {"no", "off", "False", "0", "N"}) {
    EXPECT_THAT(refused<bool>(text), HasSubstr("is not true or false -> write false")) << text;
  }
  EXPECT_EQ(refused<bool>("maybe"), "maybe is not true or false -> ");
  EXPECT_THAT(refused<bool>("\"true\""), HasSubstr("write true without quotes"));
}

TEST(Value, TextIsOneLine) {
  EXPECT_THAT(refused<std::string>(R"("a\0b")"),
              HasSubstr(R"("a\x00b" holds a control character)"));
  EXPECT_THAT(refused<std::string>("|\n  two\n  lines\n"), HasSubstr("holds a control character"));
}

TEST(Value, OthersSayWhatTheyTake) {
  EXPECT_EQ(refused<Duration>("10"), "10 has no unit -> write 10s, 10m or 10h");
  EXPECT_EQ(refused<Duration>("soon"), "soon is not a time -> ");
  EXPECT_EQ(refused<Bytes>("64 mib"), "\"64 mib\" is not a size -> ");
  EXPECT_EQ(refused<Backend>("Nccl"),
            "Nccl is not one of auto, gloo, nccl, mpi, local, strict -> did you mean nccl?");
  EXPECT_EQ(refused<Backend>("x"), "x is not one of auto, gloo, nccl, mpi, local, strict -> ");
  EXPECT_EQ(refused<std::vector<int>>("[1, two]"),
            "item 2 of the list: two is not a whole number in plain digits -> ");
  EXPECT_EQ(refused<std::vector<int>>("[[1]]"), "item 1 of the list: is not a single value -> ");
  EXPECT_EQ(refused<std::vector<std::string>>("[a, ~]"),
            "item 2 of the list: is not a single value -> ");
}

TEST(Value, TextThatOthersTakeForSomethingElseIsPrintedInQuotes) {
  for (const char* text : {"",    "true",     "No",         "NULL", "~",    "auto", "12",
                           "1.5", "0x1F",     "-x",         ".inf", "a: b", "a #b", "[a]",
                           "*a",  "10.0.0.1", "2024-01-01", " a",   "a ",   "é",    "a\"b\\"}) {
    const std::string printed = write_value(std::string(text));
    EXPECT_EQ(printed.front(), '"') << printed;
    EXPECT_EQ(read<std::string>(printed), text);
  }
  EXPECT_EQ(write_value(std::string("/data/runs-1.x")), "/data/runs-1.x");
}

TEST(Value, NumbersArePrintedExactly) {
  for (const double value : {0.1, 1e-4, 1e300, -2.5, 3.0, 5e-324, 1.7976931348623157e308}) {
    EXPECT_EQ(read<double>(write_value(value)), value);
  }
  EXPECT_EQ(write_value(3.0), "3.0");
  EXPECT_EQ(write_value(1e-5), "1.0e-05") << "with a point, or Python reads text";
  for (const int64_t count : {0L, 1L, 1000L, 1025L, 1L << 20, (1L << 20) + 1, 1L << 53}) {
    EXPECT_EQ(read<Bytes>(write_value(Bytes{count})), Bytes{count});
  }
  EXPECT_EQ(write_value(Bytes{64 << 20}), "64 MiB");
}

}  // namespace
}  // namespace shoal::config
