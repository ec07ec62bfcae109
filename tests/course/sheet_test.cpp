#include "shoal/course/sheet.h"

#include <gtest/gtest.h>

#include "shoal/config/yaml_reader.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::course {
namespace {

using tests::error_text;
using tests::TempDir;

Lab two_questions() {
  return {.number = 4,
          .title = "Two questions",
          .questions = {whole("first", "How many?", "Count.", 2),
                        deed("work", "Do it.", [](const auto&) { return "not done"; })}};
}

void write(const TempDir& directory, const std::string& text) {
  write_file_atomically(directory / kAnswersFile, text);
}

TEST(EmptySheet, HasEachQuestionAndNoAnswer) {
  EXPECT_EQ(empty_sheet(two_questions()),
            "# Lab 4: Two questions\n"
            "# Write each answer behind its key. `shoal course check 4` says what is right.\n"
            "\n"
            "# How many?\n"
            "# (a whole number)\n"
            "first:\n"
            "\n"
            "# Do it.\n"
            "# (work: the check looks at your files.)\n");
}

TEST(Begin, NeverOverwritesAnswers) {
  const TempDir directory;
  begin(make_lab(1), directory / "a/b");
  write_file_atomically(directory / "a/b/answers.yaml", "ring_steps: 6\n");
  EXPECT_NE(error_text<UsageError>([&] {
              begin(make_lab(1), directory / "a/b");
            }).find("may have answers in it"),
            std::string::npos);
  EXPECT_EQ(read_file(directory / "a/b/answers.yaml", 100), "ring_steps: 6\n");
}

TEST(Begin, NamesTheDirectoryInTextsAndConfigs) {
  const TempDir directory;
  const std::string own = (directory / "mine/second").string();
  begin(make_lab(2), own);
  const std::string config = read_file(directory / "mine/second/run.yaml", 10'000);
  EXPECT_NE(config.find(own + "/runs"), std::string::npos) << config;
  const std::string text = read_file(directory / "mine/second/lab.md", 100'000);
  EXPECT_NE(text.find("shoal train " + own + "/run.yaml"), std::string::npos);
  EXPECT_EQ(text.find("lab2/"), std::string::npos);
}

TEST(Check, JudgesEachKeyOnce) {
  const TempDir directory;
  write(directory, "first: 2\n");
  const std::vector<Judged> judged = check(two_questions(), directory.path());
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_EQ(judged[0].verdict.outcome, Outcome::kRight);
  EXPECT_EQ(judged[1].verdict.note, "not done");
}

TEST(Check, TellsKeysThatNobodyAskedFor) {
  const TempDir directory;
  write(directory, "frist: 2\nwork: done\n");
  const std::vector<Judged> judged = check(two_questions(), directory.path());
  ASSERT_EQ(judged.size(), 4U);
  EXPECT_EQ(judged[0].verdict.outcome, Outcome::kMissing);
  EXPECT_EQ(judged[2].verdict.note, "is no question of lab 4; did you mean first?");
  EXPECT_EQ(judged[3].key, "work");  // its files are looked at, not its word
  EXPECT_EQ(judged[3].verdict.outcome, Outcome::kMalformed);
}

TEST(Check, RefusesWhatIsNoSheet) {
  const TempDir directory;
  const auto refusal = [&] {
    return error_text<UsageError>([&] { check(two_questions(), directory.path()); });
  };
  EXPECT_NE(refusal().find("`shoal course start 4` makes one"), std::string::npos);
  write(directory, "first: [1, 2\n");
  EXPECT_NE(refusal().find("cannot be read"), std::string::npos);
  write(directory, "- first\n");
  EXPECT_NE(refusal().find("no lines of the form `key: value`"), std::string::npos);
  write(directory, "");
  EXPECT_EQ(check(two_questions(), directory.path())[0].verdict.outcome, Outcome::kMissing);
}

}  // namespace
}  // namespace shoal::course
