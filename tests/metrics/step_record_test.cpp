#include "shoal/metrics/step_record.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/files.h"

namespace shoal::metrics {
namespace {

TEST(Fields, HoldEveryMemberOfRecord) {
  const StepRecord record;
  // Does not compile when StepRecord has another number of members: then the list needs a line too.
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = record;
  const std::set<const void*> members = {&a, &b, &c, &d, &e, &f, &g, &h, &i,
                                         &j, &k, &l, &m, &n, &o, &p, &q, &r};
  std::set<const void*> listed;
  for (const Field& field : fields()) {
    std::visit([&](auto member) { listed.insert(&(record.*member)); }, field.member);
  }
  EXPECT_EQ(listed, members);
  EXPECT_EQ(fields().size(), members.size());
}

TEST(Fields, HaveNamesOfTheirOwnAndSayWhatTheyAre) {
  std::set<std::string_view> names;
  for (const Field& field : fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_FALSE(field.group.empty()) << field.name;
    EXPECT_EQ(field.heading.empty(), field.width == 0) << field.name;
  }
  EXPECT_EQ(fields().front().name, "step");
}

TEST(Fields, AreInTheDocument) {
  const char* source = std::getenv("SHOAL_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "SHOAL_SOURCE_DIR is not set: run by ctest";
  const std::string document = read_file(std::string(source) + "/docs/metrics.md", 1 << 20);
  for (const Field& field : fields()) {
    EXPECT_THAT(document, testing::ContainsRegex("\n\\|.*`" + std::string(field.name) + "`.* \\|"));
  }
}

std::optional<Number> figure(const StepRecord& record, std::string_view name) {
  for (const Field& field : fields()) {
    if (field.name == name) return field.of(record);
  }
  throw std::invalid_argument(std::string(name));
}

TEST(Fields, GiveNothingForWhatIsAbsent) {
  const StepRecord record{.step = 7, .loss = static_cast<double>(NAN), .grad_norm = 0.0};
  EXPECT_EQ(figure(record, "step"), Number(int64_t{7}));
  EXPECT_TRUE(std::isnan(std::get<double>(*figure(record, "loss"))));
  EXPECT_EQ(figure(record, "grad_norm"), Number(0.0)) << "0 is a figure";
  EXPECT_EQ(figure(record, "val_loss"), std::nullopt);
  EXPECT_EQ(figure(record, "memory_bytes"), std::nullopt);
}

TEST(Exact, ReadsBackAsTheSameNumber) {
  for (const double value : {0.1, 1.0 / 3, 3e-4, 1e300, 5e-324, -2.5, 123456789.125, 1e22}) {
    const std::string text = exact(value);
    double back = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(error, std::errc());
    EXPECT_EQ(end, text.data() + text.size());
    EXPECT_EQ(back, value) << text;
  }
  EXPECT_EQ(exact(std::numeric_limits<int64_t>::max()), "9223372036854775807");
}

TEST(Exact, NamesWhatIsNoNumber) {
  EXPECT_EQ(exact(static_cast<double>(NAN)), "nan");
  EXPECT_EQ(exact(-static_cast<double>(NAN)), "nan");
  EXPECT_EQ(exact(static_cast<double>(INFINITY)), "inf");
  EXPECT_EQ(exact(-static_cast<double>(INFINITY)), "-inf");
}

}  // namespace
}  // namespace shoal::metrics
