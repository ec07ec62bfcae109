#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "shoal/config/text.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/state/checkpoint.h"

#include "app/checkpoint_commands.h"
#include "app/model_path.h"
#include "app/report.h"

namespace shoal::app {
namespace {

using state::TensorSpec;

constexpr const char* kWeights = "weights.";

struct InspectWords {
  std::string path;
  std::optional<std::string> value;
  bool tensors = false;
  bool json = false;
};

std::string described(const TensorSpec& tensor) {
  return format("{} {}", state::dtype_name(tensor.dtype), state::describe(tensor.shape));
}

// "blocks.N.mlp.up.weight": blocks differ in nothing but their number.
std::string without_numbers(const std::string& name) {
  std::string result;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    result += (begin == 0 ? "" : ".") + (number ? "N" : part);
    begin = end + 1;
  }
  return result;
}

// Tensors that differ in a number of their names alone are one line.
void add_groups(Report::Section& section, const state::Checkpoint& checkpoint) {
  std::vector<std::pair<std::string, std::string>> order;  // name without numbers, type and shape
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const TensorSpec& tensor : checkpoint.tensors()) {
    const auto key = std::pair(without_numbers(tensor.name), described(tensor));
    std::vector<std::string>& names = groups[key];
    if (names.empty()) order.push_back(key);
    names.push_back(tensor.name);
  }
  for (const auto& key : order) {
    const std::vector<std::string>& names = groups.at(key);
    const bool several = names.size() > 1;
    section.add(config::shown(several ? key.first : names.front()),
                several ? format("{} x {}", names.size(), key.second) : key.second);
  }
}

Report inspected(const state::Checkpoint& checkpoint, const InspectWords& words) {
  uint64_t bytes = 0;
  for (const state::DataFile& file : checkpoint.files()) bytes += file.bytes;
  int64_t parameters = 0;
  for (const TensorSpec& tensor : checkpoint.tensors()) {
    if (tensor.name.starts_with(kWeights))
      parameters += static_cast<int64_t>(elements_of(whole_of(tensor.shape)));
  }
  Report report;
  report.section("checkpoint")
      .add("path", checkpoint.path().string())
      .add("step", checkpoint.step())
      .add("parameters", parameters, format("{} ({})", parameters, format_count(parameters)))
      .add("tensors", checkpoint.tensors().size())
      .add("files", checkpoint.files().size())
      .add("bytes", bytes, format("{} ({})", bytes, format_bytes(static_cast<int64_t>(bytes))));
  Report::Section& values = report.section("values");
  for (const auto& [key, value] : checkpoint.values()) {
    const auto lines = std::count(value.begin(), value.end(), '\n');
    values.add(words.json ? key : config::shown(key), value,
               lines == 0 ? config::shown(value)
                          : format("{} lines; --value {} prints them", lines, config::shown(key)));
  }
  Report::Section& tensors = report.section("tensors");
  if (words.json || words.tensors) {
    for (const TensorSpec& tensor : checkpoint.tensors())
      tensors.add(words.json ? tensor.name : config::shown(tensor.name), described(tensor));
  } else {
    add_groups(tensors, checkpoint);
  }
  return report;
}

void inspect(const InspectWords& words) {
  const state::Checkpoint checkpoint(newest_checkpoint(words.path));
  if (words.value) {
    const auto found = checkpoint.values().find(*words.value);
    if (found == checkpoint.values().end())
      throw UsageError(format("{} has no value '{}'; `shoal checkpoint inspect` lists those it has",
                              checkpoint.path().string(), *words.value));
    std::cout << found->second;
    return;
  }
  const Report report = inspected(checkpoint, words);
  std::cout << (words.json ? report.json() : report.text());
}

}  // namespace

void add_checkpoint_inspect(Arguments& command) {
  const auto words = std::make_shared<InspectWords>();
  Arguments inspecting =
      command.subcommand("inspect", "print its contents", [words] { inspect(*words); });
  inspecting.option("PATH", words->path, "a checkpoint, or a run: its newest",
                    {.shown = "DIR", .required = true});
  inspecting.flag("--tensors", words->tensors,
                  "list each tensor; without it those of all blocks are one line");
  inspecting.option("--value", words->value,
                    "print one value and nothing else: --value config is the run's config",
                    {.shown = "KEY"});
  inspecting.flag("--json", words->json, "as JSON, with each tensor");
}

}  // namespace shoal::app
