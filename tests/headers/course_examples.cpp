#include <iostream>

#include <gtest/gtest.h>

#include "shoal/course/collectives.h"
#include "shoal/course/lab.h"
#include "shoal/course/question.h"
#include "shoal/course/run_files.h"
#include "shoal/course/sheet.h"

namespace shoal::course {
namespace {

// shoal/course/collectives.h
TEST(HeaderExamples, Collectives) {
  const Matrix after = ring_all_reduce({{1, 2}, {10, 20}}, /*steps=*/1);  // {{11, 2}, {10, 22}}
  EXPECT_EQ(after, (Matrix{{11, 2}, {10, 22}}));
}

// shoal/course/lab.h
void labs() {
  for (const int number : {1, kNumLabs}) std::cout << make_lab(number).title;
}

// shoal/course/question.h
TEST(HeaderExamples, Question) {
  const Question question =
      whole("steps", "How many steps does the ring take?", "Both halves take ranks - 1 steps.", 6);
  EXPECT_EQ(question.judge(nullptr, "lab1").outcome, Outcome::kMissing);
}

// shoal/course/run_files.h
void run_files() {
  const std::map<int64_t, double> losses = read_losses("lab2/runs/one");
  const std::vector<Start> starts = starts_of("lab8/runs/killed");
  starts.size();
}

// shoal/course/sheet.h
void sheet() {
  const Lab lab = make_lab(3);
  begin(lab, "lab3");
  for (const Judged& judged : check(lab, "lab3")) judged.key, judged.verdict.note;
}

}  // namespace
}  // namespace shoal::course
