#include "app/cmd_plan_search.h"

#include <iostream>

#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"
#include "shoal/hugging_face/initial_model.h"
#include "shoal/plan/advice.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/search.h"

#include "app/report.h"

namespace shoal::app {
namespace {

struct Job {
  config::RunConfig config;
  config::ClusterConfig cluster;
  int devices = 1;
};

std::string as_text(double seconds) { return format("{:.4g} s", seconds); }

void print_table(const Job& job, const plan::SearchResult& found) {
  std::cout << format("{:>10}  {:>11}  {:>6}  {}\n", "step", "memory", "MFU", "layout");
  for (const plan::FoundLayout& layout : found.best) {
    const double share = plan::mfu(job.config, job.devices, job.cluster, layout.time.seconds);
    std::cout << format("{:>10}  {:>11}  {:>4.1f} %  {}\n", as_text(layout.time.seconds),
                        format_bytes(layout.bytes), 100 * share, layout.choice.describe());
  }
}

std::vector<plan::WhatIf> changes_of(const SearchWords& words,
                                     const Job& job,
                                     const plan::SearchResult& found) {
  if (!words.what_if) return {};
  return plan::what_would_change(found.best.front(), job.config, job.cluster, job.devices);
}

void print_reasons(const SearchWords& words, const Job& job, const plan::SearchResult& found) {
  const plan::FoundLayout& best = found.best.front();
  std::cout << '\n';
  for (const std::string& line : plan::reasons_for(best, job.config, job.cluster))
    std::cout << line << '\n';
  if (found.best.size() > 1) {
    const plan::FoundLayout& second = found.best[1];
    std::cout << format(
        "Next comes {}: {:+.1f} % of the time, {:+.1f} % of the memory.\n",
        second.choice.describe(), 100 * (second.time.seconds / best.time.seconds - 1),
        100 * (1.0 * static_cast<double>(second.bytes) / static_cast<double>(best.bytes) - 1));
  }
  if (!words.what_if) return;
  const std::vector<plan::WhatIf> changes = changes_of(words, job, found);
  for (const auto& [change, choice] : changes)
    std::cout << format("With {}: {}.\n", change, choice.describe());
  if (changes.empty())
    std::cout
        << "Neither another network, nor more memory, nor a larger batch changes the choice.\n";
}

Report report_of(const SearchWords& words,
                 const Job& job,
                 const plan::SearchResult& found,
                 double seconds) {
  Report report;
  report.section("search")
      .add("layouts", found.looked_at)
      .add("too_large_at_least", found.too_large)
      .add("timed", found.timed)
      .add("seconds", seconds);
  Report::Section& best = report.section("best");
  for (size_t i = 0; i < found.best.size(); ++i) {
    const plan::FoundLayout& layout = found.best[i];
    const plan::Choice& choice = layout.choice;
    best.add(
        format("{}", i + 1),
        Report::Named{{"step.seconds", layout.time.seconds},
                      {"mfu", plan::mfu(job.config, job.devices, job.cluster, layout.time.seconds)},
                      {"memory.bytes", layout.bytes},
                      {"layout", choice.describe()},
                      {"tp", int64_t{choice.tp}},
                      {"pp", int64_t{choice.pp}},
                      {"chunks", int64_t{choice.chunks}},
                      {"dp_replicate", int64_t{choice.dp_replicate}},
                      {"dp_shard", int64_t{choice.dp_shard}},
                      {"sharding", config::write_value(choice.sharding)},
                      {"micro_batch", choice.micro_batch},
                      {"recompute", config::write_value(choice.recompute)}});
  }
  if (!words.what_if) return report;
  Report::Section& what_if = report.section("what_if");
  for (const auto& [change, choice] : changes_of(words, job, found))
    what_if.add(change, choice.describe());
  return report;
}

Job job_of(const SearchWords& words) {
  Job job{.config = config::load_or_throw(
              hugging_face::with_initial_model({.file = words.file, .sets = words.sets})),
          .cluster = config::load_cluster(words.cluster),
          .devices = words.gpus};
  plan::require_vocabulary(job.config);
  return job;
}

}  // namespace

void print_search(const SearchWords& words) {
  const Job job = job_of(words);
  const auto began = Clock::now();
  const plan::SearchResult found = plan::search(job.config, job.cluster, job.devices,
                                                {.layouts = static_cast<size_t>(words.layouts)});
  const double seconds = seconds_since(began);
  const plan::FoundLayout& best = plan::best_of(found, job.config, job.cluster, job.devices);
  if (words.json) {
    std::cout << report_of(words, job, found, seconds).json();
  } else {
    print_table(job, found);
    std::cout << format(
        "{} layouts, of which at least {} do not fit and {} were timed, in {:.2f} s.\n",
        found.looked_at, found.too_large, found.timed, seconds);
    print_reasons(words, job, found);
  }
  if (!words.write_to) return;
  write_file_atomically(*words.write_to, config::to_yaml(plan::with(job.config, best.choice)));
  if (!words.json) std::cout << format("{} has the first of them.\n", *words.write_to);
}

}  // namespace shoal::app
