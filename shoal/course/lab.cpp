#include "shoal/course/lab.h"

#include <algorithm>
#include <array>

#include "shoal/core/error.h"
#include "shoal/course/compiled_in.h"

namespace shoal::course {
namespace {

struct Entry {
  std::string_view title;
  std::vector<Question> (*questions)();
};

constexpr std::array<Entry, kNumLabs> kLabs = {{
    {"Collectives by hand", collectives_questions},
    {"Gradients that must be summed", gradients_questions},
    {"Memory of the ZeRO stages", zero_questions},
    {"The bubble of a pipeline", bubble_questions},
    {"Matrices split over ranks", tensor_questions},
    {"A layout that cannot run", layout_questions},
    {"Planning a run of 7 billion parameters", planning_questions},
    {"Surviving a kill", kill_questions},
}};

const Entry& entry_of(int number) {
  SHOAL_CHECK(number >= 1 && number <= kNumLabs, "there is no lab {}", number);
  return kLabs[static_cast<size_t>(number) - 1];
}

}  // namespace

Lab make_lab(int number) {
  const Entry& entry = entry_of(number);
  return {.number = number, .title = std::string(entry.title), .questions = entry.questions()};
}

std::string_view title_of(int number) { return entry_of(number).title; }

std::vector<ExerciseFile> files_of(int number) {
  std::vector<ExerciseFile> files;
  for (const CompiledIn& file : compiled_in()) {
    if (file.lab == number)
      files.push_back({.name = std::string(file.name), .content = std::string(file.content)});
  }
  return files;
}

std::string content_of(int number, std::string_view name) {
  for (const CompiledIn& file : compiled_in()) {
    if (file.lab == number && file.name == name) return std::string(file.content);
  }
  SHOAL_CHECK(false, "lab {} has no file {}", number, name);
}

}  // namespace shoal::course
