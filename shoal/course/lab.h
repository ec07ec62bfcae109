// lab.h -- the labs of the course: their questions, and the files that a student begins with.
//
//   for (const int number : {1, kNumLabs}) std::cout << make_lab(number).title;
//
// A lab's text is course/labN_NAME.md in the tree. It and the files of course/files/labN are compiled
// in, so that a laptop needs nothing but the executables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/course/question.h"

namespace shoal::course {

constexpr int kNumLabs = 8;

struct ExerciseFile {
  std::string name{};  // in the lab's directory
  std::string content{};
};

struct Lab {
  int number = 1;
  std::string title{};
  std::vector<Question> questions{};
};

// Returns a lab, 1 to kNumLabs, with what its questions expect.
Lab make_lab(int number);

std::string_view title_of(int number);

// Returns the lab's text and its exercise files, without answers.yaml.
std::vector<ExerciseFile> files_of(int number);

// Returns the content of one of them. Throws BugError when there is none of that name.
std::string content_of(int number, std::string_view name);

// What make_lab() is made of: a file for each.
std::vector<Question> collectives_questions();
std::vector<Question> gradients_questions();
std::vector<Question> zero_questions();
std::vector<Question> bubble_questions();
std::vector<Question> tensor_questions();
std::vector<Question> layout_questions();
std::vector<Question> planning_questions();
std::vector<Question> kill_questions();

}  // namespace shoal::course
