#include "shoal/course/sheet.h"

#include <algorithm>
#include <system_error>

#include "shoal/config/text.h"
#include "shoal/config/yaml_reader.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/nearest.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;
using config::YamlNode;

constexpr size_t kMaxSheetBytes = size_t{1} << 18;

YamlNode read_sheet(const Lab& lab, const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none))
    throw UsageError(
        format("there is no {}: `shoal course start {}` makes one, and a directory can "
               "be named behind the number",
               path.string(), lab.number));
  const config::Document document =
      config::parse_yaml(read_file(path, kMaxSheetBytes), path.string());
  if (!document.problems.empty())
    throw UsageError(config::report(path.string() + " cannot be read", document.problems));
  if (document.root.kind != YamlNode::Kind::kMap && document.root.kind != YamlNode::Kind::kNull)
    throw UsageError(format("{} has no lines of the form `key: value`", path.string()));
  return document.root;
}

const YamlNode* find(const YamlNode& sheet, std::string_view key) {
  for (size_t i = 0; i < sheet.keys.size(); ++i) {
    if (sheet.keys[i].text == key) return &sheet.items[i];
  }
  return nullptr;
}

// Whether the sheet may have a line for this key.
bool is_asked(const Lab& lab, std::string_view key) {
  return std::any_of(lab.questions.begin(), lab.questions.end(), [key](const Question& question) {
    return question.key == key && !question.form.empty();
  });
}

Judged stranger(const Lab& lab, const std::string& key) {
  std::vector<std::string_view> keys;
  for (const Question& question : lab.questions) {
    if (!question.form.empty()) keys.push_back(question.key);
  }
  const auto meant = nearest(key, keys);
  return {.key = config::shown(key),
          .verdict = {.outcome = Outcome::kMalformed,
                      .note = format("is no question of lab {}{}", lab.number,
                                     meant ? format("; did you mean {}?", *meant) : "")}};
}

// Texts and configs name the files of their lab as if its directory were labN.
std::string placed(std::string content, int lab, const fs::path& directory) {
  const std::string usual = format("lab{}/", lab);
  const std::string own = (directory / "").string();
  for (size_t at = 0; (at = content.find(usual, at)) != std::string::npos; at += own.size())
    content.replace(at, usual.size(), own);
  return content;
}

}  // namespace

std::string empty_sheet(const Lab& lab) {
  std::string text = format(
      "# Lab {}: {}\n# Write each answer behind its key. `shoal course check {}` says what is "
      "right.\n",
      lab.number, lab.title, lab.number);
  for (const Question& question : lab.questions) {
    text += '\n' + config::wrapped(question.text, "# ");
    if (question.form.empty()) {
      text += format("# ({}: the check looks at your files.)\n", question.key);
    } else {
      text += format("# ({})\n{}:\n", question.form, question.key);
    }
  }
  return text;
}

std::vector<std::string> begin(const Lab& lab, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory))
    throw UsageError(format("cannot make the directory {}: {}", directory.string(),
                            error ? error.message() : std::string("something else has that name")));
  if (!create_file_once(directory / kAnswersFile, empty_sheet(lab)))
    throw UsageError(
        format("{} is there already, and may have answers in it: name another "
               "directory, or remove it first",
               (directory / kAnswersFile).string()));
  std::vector<std::string> names = {kAnswersFile};
  for (const ExerciseFile& file : files_of(lab.number)) {
    write_file_atomically(directory / file.name, placed(file.content, lab.number, directory));
    names.push_back(file.name);
  }
  return names;
}

std::vector<Judged> check(const Lab& lab, const fs::path& directory) {
  const YamlNode sheet = read_sheet(lab, directory / kAnswersFile);
  std::vector<Judged> judged;
  for (const Question& question : lab.questions)
    judged.push_back(
        {.key = question.key, .verdict = question.judge(find(sheet, question.key), directory)});
  for (const YamlNode& key : sheet.keys) {
    if (!is_asked(lab, key.text)) judged.push_back(stranger(lab, key.text));
  }
  return judged;
}

}  // namespace shoal::course
