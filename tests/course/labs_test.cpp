#include <set>

#include <gtest/gtest.h>

#include "shoal/config/yaml_reader.h"
#include "shoal/course/lab.h"
#include "shoal/course/sheet.h"

#include "tests/support/temp_dir.h"

namespace shoal::course {
namespace {

class EveryLab : public testing::TestWithParam<int> {};

TEST_P(EveryLab, HasKeysThatAreUniqueAndInItsText) {
  const Lab lab = make_lab(GetParam());
  const std::string text = content_of(lab.number, "lab.md");
  std::set<std::string> keys;
  EXPECT_GE(lab.questions.size(), 5U);
  for (const Question& question : lab.questions) {
    EXPECT_TRUE(keys.insert(question.key).second) << question.key;
    EXPECT_NE(text.find("`" + question.key + "`"), std::string::npos)
        << question.key << " is not in the text";
    EXPECT_FALSE(question.text.empty());
  }
}

TEST_P(EveryLab, BeginsWithNothingRight) {
  const tests::TempDir directory;
  const Lab lab = make_lab(GetParam());
  begin(lab, directory.path());
  const std::vector<Judged> judged = check(lab, directory.path());
  EXPECT_EQ(judged.size(), lab.questions.size());
  for (const auto& [key, verdict] : judged) {
    EXPECT_NE(verdict.outcome, Outcome::kRight) << key;
    EXPECT_FALSE(verdict.note.empty()) << key;
  }
}

TEST_P(EveryLab, HasASheetThatIsYaml) {
  const Lab lab = make_lab(GetParam());
  const config::Document document = config::parse_yaml(empty_sheet(lab), "answers.yaml");
  EXPECT_TRUE(document.problems.empty());
  size_t asked = 0;
  for (const Question& question : lab.questions) asked += question.form.empty() ? 0 : 1;
  EXPECT_EQ(document.root.keys.size(), asked);
}

INSTANTIATE_TEST_SUITE_P(Course, EveryLab, testing::Range(1, kNumLabs + 1));

}  // namespace
}  // namespace shoal::course
