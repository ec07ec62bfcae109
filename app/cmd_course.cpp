#include "app/cmd_course.h"

#include <algorithm>
#include <iostream>

#include "shoal/core/error.h"
#include "shoal/course/sheet.h"

#include "app/arguments.h"
#include "app/report.h"

namespace shoal::app {
namespace {

using course::Outcome;

struct CourseWords {
  int number = 1;
  std::optional<std::string> directory = std::nullopt;
  bool json = false;

  [[nodiscard]] std::string place() const { return directory.value_or(format("lab{}", number)); }
};

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRight:
      return "right";
    case Outcome::kNotYet:
      return "not yet";
    case Outcome::kMissing:
      return "missing";
    case Outcome::kMalformed:
      return "unclear";
  }
  SHOAL_CHECK(false, "outcome {} has no name", static_cast<int>(outcome));
}

void list_labs() {
  for (int number = 1; number <= course::kNumLabs; ++number)
    std::cout << format("  {}  {}\n", number, course::title_of(number));
  std::cout << "\nshoal course start N [DIR]   begins lab N in DIR, or in labN: its text is lab.md "
               "there\n"
               "shoal course check N [DIR]   says which answers in DIR/answers.yaml are right\n";
}

void start_lab(const CourseWords& words) {
  const course::Lab lab = course::make_lab(words.number);
  const std::vector<std::string> names = course::begin(lab, words.place());
  std::cout << format("lab {}: {}\n", lab.number, lab.title);
  for (const std::string& name : names) std::cout << format("  {}/{}\n", words.place(), name);
  std::cout << format(
      "Read {}/lab.md, write your answers into {}/{}, then: shoal course check {}{}\n",
      words.place(), words.place(), course::kAnswersFile, lab.number,
      words.directory ? " " + *words.directory : "");
}

void print_verdicts(const course::Lab& lab, const std::vector<course::Judged>& judged) {
  size_t width = 0;
  for (const course::Judged& one : judged) width = std::max(width, one.key.size());
  std::cout << format("lab {}: {}\n", lab.number, lab.title);
  for (const auto& [key, verdict] : judged) {
    std::string line =
        format("  {:<7}  {:<{}}  {}", outcome_name(verdict.outcome), key, width, verdict.note);
    line.erase(line.find_last_not_of(" \n") + 1);
    for (size_t at = 0; (at = line.find('\n', at)) != std::string::npos; ++at)
      line.insert(at + 1, width + 13, ' ');  // below the note's first line
    std::cout << line << '\n';
  }
}

Report verdicts_as_report(const course::Lab& lab,
                          const std::vector<course::Judged>& judged,
                          int64_t right) {
  Report report;
  report.section("lab")
      .add("number", lab.number)
      .add("title", lab.title)
      .add("right", right)
      .add("questions", lab.questions.size());
  Report::Section& answers = report.section("answers");
  for (const auto& [key, verdict] : judged)
    answers.add(key, std::string(outcome_name(verdict.outcome)));
  return report;
}

// Returns whether everything is right.
bool check_lab(const CourseWords& words) {
  const course::Lab lab = course::make_lab(words.number);
  const std::vector<course::Judged> judged = course::check(lab, words.place());
  const int64_t right = std::count_if(judged.begin(), judged.end(), [](const course::Judged& one) {
    return one.verdict.outcome == Outcome::kRight;
  });
  if (words.json) {
    std::cout << verdicts_as_report(lab, judged, right).json();
  } else {
    print_verdicts(lab, judged);
    std::cout << format("{} of {} right\n", right, lab.questions.size());
  }
  return right == static_cast<int64_t>(judged.size());
}

void add_lab(Arguments& command, CourseWords& words) {
  command.option("lab", words.number, "its number",
                 {.shown = "N", .required = true, .range = {{1, course::kNumLabs}}});
  command.option("directory", words.directory, "where its files are; labN without this",
                 {.shown = "DIR"});
}

}  // namespace

int run_course(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    list_labs();
    return 0;
  }
  CourseWords words;
  bool right = true;
  Arguments command(
      "shoal course",
      "Eight labs on distributed training, half an hour each, on any laptop with Linux. "
      "Without a subcommand: their list.\n\n"
      "  shoal course start 4\n"
      "  shoal course check 4\n");
  Arguments start = command.subcommand("start", "put the text and the files of a lab into DIR",
                                       [&words] { start_lab(words); });
  add_lab(start, words);
  Arguments check =
      command.subcommand("check", "say which answers are right; exit code 0 when all are, else 1",
                         [&words, &right] { right = check_lab(words); });
  add_lab(check, words);
  check.flag("--json", words.json, "as JSON, without hints");
  command.parse(arguments);
  return right ? 0 : static_cast<int>(ExitCode::kDifferent);
}

}  // namespace shoal::app
