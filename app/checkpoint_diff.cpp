#include "shoal/state/checkpoint_diff.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/config/text.h"
#include "shoal/core/error.h"

#include "app/byte_progress.h"
#include "app/checkpoint_commands.h"
#include "app/model_path.h"
#include "app/report.h"

namespace shoal::app {
namespace {

using state::TensorDifference;
using state::ValueDifference;

constexpr size_t kMostShown = 20;

struct DiffWords {
  std::string first;
  std::string second;
  std::string only;
  bool tensors = false;
  bool json = false;
};

std::optional<config::RunConfig> config_from(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const config::Loaded loaded = config::load_text(*text, {.file = "config"});
  if (!loaded.found.problems.empty()) return std::nullopt;
  return loaded.config;
}

// Configs key by key, where both can be read: a key that only a newer version writes is no difference as
// long as it has its default.
std::vector<ValueDifference> key_by_key(const std::vector<ValueDifference>& values) {
  std::vector<ValueDifference> result;
  for (const ValueDifference& value : values) {
    const auto first = value.key == "config" ? config_from(value.first) : std::nullopt;
    const auto second = value.key == "config" ? config_from(value.second) : std::nullopt;
    if (!first || !second) {
      result.push_back(value);
      continue;
    }
    for (const config::Difference& key : config::diff(*first, *second))
      result.push_back({"config." + key.key, key.before, key.after});
  }
  return result;
}

// Shows both values; if they have several lines, only the first line that differs.
std::string shown(const ValueDifference& value) {
  if (!value.second) return "only in the first: " + config::shown(*value.first);
  if (!value.first) return "only in the second: " + config::shown(*value.second);
  std::string_view a = *value.first;
  std::string_view b = *value.second;
  const bool lines =
      std::max(std::count(a.begin(), a.end(), '\n'), std::count(b.begin(), b.end(), '\n')) > 0;
  size_t line = 1;
  for (; lines; ++line) {
    const std::string_view a_line = a.substr(0, a.find('\n'));
    const std::string_view b_line = b.substr(0, b.find('\n'));
    const bool last = a_line.size() == a.size() || b_line.size() == b.size();
    if (a_line != b_line || last) {
      a = a_line;
      b = b_line;
      break;
    }
    a.remove_prefix(a_line.size() + 1);
    b.remove_prefix(b_line.size() + 1);
  }
  return format("{}{} is {}", lines ? format("from line {} on: ", line) : "", config::shown(a),
                config::shown(b));
}

std::string described(const std::optional<state::TensorSpec>& tensor) {
  return tensor ? format("{} {}", state::dtype_name(tensor->dtype), state::describe(tensor->shape))
                : "";
}

bool has_content(const TensorDifference& tensor) { return tensor.differing > 0; }

std::string shown(const TensorDifference& tensor) {
  if (!tensor.second) return "only in the first: " + described(tensor.first);
  if (!tensor.first) return "only in the second: " + described(tensor.second);
  if (!has_content(tensor))
    return format("{} is {}", described(tensor.first), described(tensor.second));
  std::string text = format("{} of {} differ", tensor.differing, tensor.elements);
  if (const auto& largest = tensor.largest)
    text += format(", by at most {:.3g} at {}: {:.9g} is {:.9g}", largest->by,
                   state::describe(largest->at), largest->first, largest->second);
  return text;
}

Report::Named named(const TensorDifference& tensor) {
  Report::Named facts;
  if (tensor.first) facts.emplace_back("first", described(tensor.first));
  if (tensor.second) facts.emplace_back("second", described(tensor.second));
  if (!has_content(tensor)) return facts;
  facts.emplace_back("elements", static_cast<int64_t>(tensor.elements));
  facts.emplace_back("differing", static_cast<int64_t>(tensor.differing));
  if (const auto& largest = tensor.largest) {
    facts.emplace_back("largest difference", largest->by);
    facts.emplace_back("at", state::describe(largest->at));
    facts.emplace_back("first there", largest->first);
    facts.emplace_back("second there", largest->second);
  }
  return facts;
}

Report report_of(const state::CheckpointDifference& found,
                 const std::vector<ValueDifference>& values,
                 const DiffWords& words) {
  Report report;
  if (!values.empty()) {
    Report::Section& section = report.section("values");
    for (const ValueDifference& value : values) {
      Report::Named facts;
      if (value.first) facts.emplace_back("first", *value.first);
      if (value.second) facts.emplace_back("second", *value.second);
      section.add(words.json ? value.key : config::shown(value.key), facts, shown(value));
    }
  }
  if (!found.tensors.empty()) {
    Report::Section& section = report.section("tensors");
    const bool all = words.json || words.tensors;
    const size_t count = all ? found.tensors.size() : std::min(found.tensors.size(), kMostShown);
    for (size_t i = 0; i < count; ++i) {
      const TensorDifference& tensor = found.tensors[i];
      section.add(words.json ? tensor.name() : config::shown(tensor.name()), named(tensor),
                  shown(tensor));
    }
    if (count < found.tensors.size())
      section.add("...", "", format("{} more; --tensors lists all", found.tensors.size() - count));
  }
  const bool equal = values.empty() && found.tensors.empty();
  report.section("result")
      .add("equal", equal)
      .add("values that differ", values.size())
      .add("tensors that differ", found.tensors.size(),
           format("{}; both have {}", found.tensors.size(), found.compared));
  return report;
}

int compare(const DiffWords& words) {
  const state::Checkpoint first(newest_checkpoint(words.first));
  const state::Checkpoint second(newest_checkpoint(words.second));
  state::CheckpointDifference found;
  {
    ByteProgress progress("diff");
    found = state::diff(first, second, {.only = words.only}, progress.progress());
  }
  if (found.compared == 0 && found.tensors.empty() && !words.only.empty())
    throw UsageError(
        format("--only is '{}', but neither has a tensor whose name begins so", words.only));
  const std::vector<ValueDifference> values = key_by_key(found.values);
  const Report report = report_of(found, values, words);
  std::cout << (words.json ? report.json() : report.text());
  const bool equal = values.empty() && found.tensors.empty();
  return static_cast<int>(equal ? ExitCode::kDone : ExitCode::kDifferent);
}

}  // namespace

void add_checkpoint_diff(Arguments& command, int& exit_code) {
  const auto words = std::make_shared<DiffWords>();
  Arguments diff =
      command.subcommand("diff", "compare two checkpoints; exit code 0: equal, 1: different",
                         [words, &exit_code] { exit_code = compare(*words); });
  diff.footer(
      "  shoal checkpoint diff runs/a runs/b/checkpoints/step-000002000 --only weights.\n\n"
      "Configs key by key, tensors element by element; which ranks wrote them makes no "
      "difference.\n"
      "Elements differ when their bits do.");
  diff.option("FIRST", words->first, "a checkpoint, or a run: its newest",
              {.shown = "DIR", .required = true});
  diff.option("SECOND", words->second, "what to compare it with",
              {.shown = "DIR", .required = true});
  diff.option("--only", words->only, "only tensors whose names begin so, and no values",
              {.shown = "PREFIX"});
  diff.flag("--tensors", words->tensors,
            format("list all tensors that differ; without it the first {}", kMostShown));
  diff.flag("--json", words->json, "as JSON, with all tensors that differ");
}

}  // namespace shoal::app
