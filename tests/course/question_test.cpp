#include "shoal/course/question.h"

#include <gtest/gtest.h>

#include "shoal/config/yaml_reader.h"
#include "shoal/core/error.h"

namespace shoal::course {
namespace {

Verdict judged(const Question& question, const std::string& answer) {
  const config::Document document = config::parse_yaml("a: " + answer, "test");
  EXPECT_TRUE(document.problems.empty()) << answer;
  return question.judge(&document.root.items.at(0), ".");
}

Outcome outcome(const Question& question, const std::string& answer) {
  return judged(question, answer).outcome;
}

TEST(Whole, IsExact) {
  const Question question = whole("a", "?", "Count them.", 27);
  EXPECT_EQ(outcome(question, "27"), Outcome::kRight);
  EXPECT_EQ(judged(question, "28").note, "not 28. Count them.");
  EXPECT_EQ(outcome(question, "28"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "27.0"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, "twenty"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, "[27]"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, "{b: 27}"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, "99999999999999999999"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, ""), Outcome::kMissing);
  EXPECT_EQ(outcome(question, "\"\""), Outcome::kMissing);
  EXPECT_EQ(question.judge(nullptr, ".").outcome, Outcome::kMissing);
}

TEST(Decimal, IsRightWithinItsTolerance) {
  const Question question = decimal("a", "?", "Divide.", 200, 0.01);
  EXPECT_EQ(question.form, "a number; 1 % off is right");
  EXPECT_EQ(outcome(question, "200"), Outcome::kRight);
  EXPECT_EQ(outcome(question, "198"), Outcome::kRight);
  EXPECT_EQ(outcome(question, "202"), Outcome::kRight);
  EXPECT_EQ(outcome(question, "202.1"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "-200"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "200 GB"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, ".nan"), Outcome::kMalformed);
}

TEST(List, ComparesLengthOrderAndValues) {
  const Question question = list("a", "?", "Add up.", {3.6, 0.8});
  EXPECT_EQ(outcome(question, "[3.6, 0.8]"), Outcome::kRight);
  EXPECT_EQ(outcome(question, "[0.8, 3.6]"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "[3.6]"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "[3.6, 0.8, 0]"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "[3.6, x]"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, "[[3.6], [0.8]]"), Outcome::kMalformed);
  EXPECT_EQ(outcome(question, "3.6"), Outcome::kMalformed);
}

TEST(MatrixQuestion, ComparesRows) {
  const Question question = matrix("a", "?", "Multiply.", {{1, 2, 3}, {4, 5, -6}});
  EXPECT_EQ(question.form, "a list of 2 rows of 3: [[1, ...], [2, ...]]");
  EXPECT_EQ(outcome(question, "[[1, 2, 3], [4, 5, -6]]"), Outcome::kRight);
  EXPECT_EQ(outcome(question, "[[1, 2, 3], [4, 5, 6]]"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "[[1, 2, 3]]"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "[[1, 4], [2, 5], [3, -6]]"), Outcome::kNotYet);
  EXPECT_EQ(outcome(question, "[1, 2, 3]"), Outcome::kMalformed);
}

TEST(Choice, TakesItsWordsAlone) {
  const Question question = choice("a", "?", "Look.", {"saved", "lost"}, "saved");
  EXPECT_EQ(outcome(question, "saved"), Outcome::kRight);
  EXPECT_EQ(outcome(question, "Saved "), Outcome::kRight);
  EXPECT_EQ(outcome(question, "lost"), Outcome::kNotYet);
  EXPECT_EQ(judged(question, "gone").note,
            "gone is none of them; the answer is one of: saved, lost");
  EXPECT_EQ(outcome(question, "[saved]"), Outcome::kMalformed);
  EXPECT_THROW(choice("a", "?", "", {"x"}, "y"), BugError);
}

TEST(Word, DoesNotCareForCase) {
  const Question question = word("a", "?", "Read on.", "B3");
  EXPECT_EQ(outcome(question, "b3"), Outcome::kRight);
  EXPECT_EQ(judged(question, "B2").note, "not B2. Read on.");
  EXPECT_EQ(outcome(question, "[B3]"), Outcome::kMalformed);
}

TEST(Later, SaysWhyThereIsNothingToCompareWith) {
  const auto right = [](const std::filesystem::path& directory) -> int64_t {
    if (directory == "empty") throw DataError("there is no run");
    return 80;
  };
  const Question question = whole("a", "?", "Look.", right);
  const config::Document document = config::parse_yaml("a: 80", "test");
  const config::YamlNode& answer = document.root.items.at(0);
  EXPECT_EQ(question.judge(&answer, "full").outcome, Outcome::kRight);
  EXPECT_EQ(question.judge(&answer, "empty").note, "there is no run");
  EXPECT_EQ(question.judge(&answer, "empty").outcome, Outcome::kNotYet);
}

TEST(Deed, IsDoneWhenNothingIsMissing) {
  const auto look = [](const std::filesystem::path& directory) -> std::string {
    if (directory == "broken") throw UsageError("cannot be read");
    return directory == "done" ? "" : "not killed";
  };
  const Question question = deed("a", "?", look);
  EXPECT_TRUE(question.form.empty());
  EXPECT_EQ(question.judge(nullptr, "done").outcome, Outcome::kRight);
  EXPECT_EQ(question.judge(nullptr, "begun").note, "not killed");
  EXPECT_EQ(question.judge(nullptr, "broken").note, "cannot be read");
}

}  // namespace
}  // namespace shoal::course
