// sheet.h -- a student's answers: the empty sheet, and what is right of a filled one.
//
//   const Lab lab = make_lab(3);
//   begin(lab, "lab3");                        // answers.yaml and the exercise files
//   for (const Judged& judged : check(lab, "lab3")) judged.key, judged.verdict.note;
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shoal/course/lab.h"

namespace shoal::course {

constexpr const char* kAnswersFile = "answers.yaml";

// Returns answers.yaml without answers: questions as comments, and a line for each key.
std::string empty_sheet(const Lab& lab);

// Creates the directory with the sheet and the lab's files, and returns their names. Throws UsageError
// when a sheet is there already: answers are never overwritten.
std::vector<std::string> begin(const Lab& lab, const std::filesystem::path& directory);

struct Judged {
  std::string key{};
  Verdict verdict{};
};

// Returns a verdict for each question, in their order, then one for each key that is none of them.
// Throws UsageError when there is no sheet, or it is not YAML.
std::vector<Judged> check(const Lab& lab, const std::filesystem::path& directory);

}  // namespace shoal::course
