#include "shoal/config/load.h"

#include <algorithm>
#include <utility>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/shipped_file.h"

namespace shoal::config {
namespace {

std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }

// A file for another version means other things by its keys: what else seems wrong is not worth
// telling.
void keep_only_version_problems(std::vector<Problem>& problems) {
  const auto is_other = [](const Problem& problem) { return problem.where != "version"; };
  if (std::all_of(problems.begin(), problems.end(), is_other)) return;
  problems.erase(std::remove_if(problems.begin(), problems.end(), is_other), problems.end());
}

// Adds what check() found, except in sections where a value was refused: there it compared the
// default.
void add_disagreements(std::vector<Problem> disagreements, Findings& found) {
  std::vector<Problem> news;
  for (Problem& problem : disagreements) {
    const auto same_section = [&problem](const Problem& other) {
      return section_of(other.where) == section_of(problem.where);
    };
    if (std::any_of(found.problems.begin(), found.problems.end(), same_section)) continue;
    const auto place = found.places.find(problem.where);
    if (place != found.places.end()) problem.place = place->second;
    news.push_back(std::move(problem));
  }
  for (Problem& problem : news) found.problems.push_back(std::move(problem));
}

std::string title_of(const Request& request, const std::vector<Problem>& problems) {
  const std::string name = request.file ? request.file->string() : "the config";
  const bool of_the_file = problems.front().where.empty();
  if (!request.job || of_the_file) return name + " cannot be used";
  return format("{} cannot run on {} rank{}", name, request.job->ranks,
                request.job->ranks == 1 ? "" : "s");
}

}  // namespace

Loaded load_text(std::string_view text, const Request& request) {
  Loaded loaded;
  Findings& found = loaded.found;
  const Table table = table_of(loaded.config);
  read_yaml(table, text, request.file.value_or("(no file)").string(), found);
  for (const std::string& assignment : request.sets) read_set(table, assignment, found);
  keep_only_version_problems(found.problems);
  if (request.model) loaded.config.model = *request.model;
  if (request.job) add_disagreements(check(loaded.config, *request.job), found);
  if (request.job && found.problems.empty()) loaded.config = resolve(loaded.config, *request.job);
  return loaded;
}

Loaded load(const Request& request) {
  if (!request.file) return load_text("", request);
  try {
    return load_text(read_file(own_or_shipped(*request.file), kMaxConfigBytes), request);
  } catch (const DataError& error) {
    Loaded loaded;
    loaded.found.problems.push_back(
        {.what = error.what(),
         .hint = "name a YAML file of at most 1 MiB; configs/ holds examples"});
    return loaded;
  }
}

RunConfig load_or_throw(const Request& request) {
  Loaded loaded = load(request);
  if (loaded.found.problems.empty()) return std::move(loaded.config);
  throw UsageError(report(title_of(request, loaded.found.problems), loaded.found.problems));
}

}  // namespace shoal::config
