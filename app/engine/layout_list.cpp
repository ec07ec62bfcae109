#include "app/engine/layout_list.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "shoal/config/load.h"
#include "shoal/core/format.h"
#include "shoal/plan/composition.h"

namespace shoal::app {
namespace {

using Sets = std::vector<std::string>;

// Returns the product of the degrees; dp_shard: auto is one.
int ranks_of(const Sets& sets) {
  const config::ParallelConfig parallel = config::load_or_throw({.sets = sets}).parallel;
  return parallel.dp_replicate * parallel.dp_shard.value_or(1) * parallel.cp * parallel.pp *
         parallel.tp;
}

std::vector<config::Problem> problems_of(const Sets& sets) {
  const int ranks = ranks_of(sets);
  const config::Loaded loaded =
      config::load_text("", {.sets = sets, .job = config::JobSize{ranks, ranks}});
  return loaded.found.problems.empty() ? plan::why_not(loaded.config, ranks)
                                       : loaded.found.problems;
}

struct Choice {
  std::string name;
  Sets sets;
};

Sets joined(const Sets& a, const Sets& b) {
  Sets all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

const std::vector<Choice> kRows = {
    {"no_shard", {"parallel.sharding=no_shard", "parallel.dp_shard=2"}},
    {"optimizer", {"parallel.sharding=optimizer", "parallel.dp_shard=2"}},
    {"shard_grad_op", {"parallel.sharding=shard_grad_op", "parallel.dp_shard=2"}},
    {"full_shard", {"parallel.sharding=full_shard", "parallel.dp_shard=2"}},
    {"hybrid_shard",
     {"parallel.sharding=hybrid_shard", "parallel.dp_shard=2", "parallel.dp_replicate=2"}},
};

const Sets kPipeline = {"parallel.pp=2", "train.micro_batch=1"};
const Sets kInterleaved = joined(kPipeline, {"parallel.schedule=interleaved", "parallel.chunks=2"});

const std::vector<Choice> kColumns = {
    {"alone", {}},
    {"tp", {"parallel.tp=2"}},
    {"pp", kPipeline},
    {"tp pp", joined(kPipeline, {"parallel.tp=2"})},
    {"interleaved", kInterleaved},
    {"cp", {"parallel.cp=2"}},
    {"muon", {"optimizer.kind=muon"}},
    {"muon pp", joined(kPipeline, {"optimizer.kind=muon"})},
    {"muon tp", {"optimizer.kind=muon", "parallel.tp=2"}},
};

const std::vector<Sets> kRefused = {
    {"parallel.cp=2"},
    {"parallel.sharding=hybrid_shard", "parallel.dp_shard=2"},
    {"parallel.pp=16", "model.layers=12"},
    {"parallel.pp=2", "parallel.chunks=2"},
    {"parallel.chunks=2"},
    {"parallel.pp=2", "parallel.schedule=interleaved"},
    {"parallel.schedule=interleaved"},
    {"parallel.pp=2", "parallel.schedule=file"},
    {"parallel.pp=2", "parallel.schedule_file=mine.txt"},
    {"parallel.dp_shard=32", "train.batch=16"},
    {"parallel.tp=5", "model.heads=4"},
    {"parallel.tp=3", "model.heads=4", "model.kv_heads=2"},
    {"parallel.tp=4", "model.heads=4", "model.kv_heads=2", "model.qk_norm=width"},
};

size_t width_of(const Choice& column) {
  return std::max(column.name.size(), std::string_view("yes").size());
}

std::string compositions() {
  std::string text =
      "what composes: the ranks of a row's sharding, and along each axis named above\n\n";
  text += format("  {:<13}", "");
  for (const Choice& column : kColumns) text += format("  {:<{}}", column.name, width_of(column));
  for (const Choice& row : kRows) {
    text += format("\n  {:<13}", row.name);
    for (const Choice& column : kColumns) {
      const bool runs = problems_of(joined(row.sets, column.sets)).empty();
      text += format("  {:<{}}", runs ? "yes" : "-", width_of(column));
    }
  }
  return text + '\n';
}

std::string refusals() {
  std::string text = "what is refused, and why\n";
  for (const Sets& sets : kRefused) {
    std::string shown;
    for (const std::string& set : sets) shown += (shown.empty() ? "" : " ") + set;
    text += format("\n  {}\n", shown);
    const std::vector<config::Problem> found = problems_of(sets);
    if (found.empty()) text += "    nothing: it runs\n";
    for (const config::Problem& problem : found)
      text += format("    {}: {}\n      -> {}\n", problem.where, problem.what, problem.hint);
  }
  return text;
}

// Removes trailing blanks of padded columns.
std::string trimmed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out.resize(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

}  // namespace

std::string layout_list() { return trimmed(compositions() + '\n' + refusals()); }

}  // namespace shoal::app
