#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/course/lab.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/program_check.h"
#include "shoal/plan/schedule_check.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/schedule_text.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;

constexpr int kLayoutRanks = 4;
constexpr const char* kSchedules[] = {"a", "b", "c"};

plan::Schedule schedule_named(const std::string& letter) {
  const std::string file = format("schedule_{}.txt", letter);
  return plan::schedule_from_text(content_of(6, file), file);
}

plan::Simulation timeline_of(const plan::Schedule& schedule) {
  return plan::simulate(schedule, plan::even_times(schedule, {}));
}

std::string incomplete_schedule() {
  for (const char* letter : kSchedules) {
    if (!plan::check(schedule_named(letter)).empty()) return letter;
  }
  SHOAL_CHECK(false, "all schedules of lab 6 are complete");
}

std::string deadlocked_schedule() {
  for (const char* letter : kSchedules) {
    const plan::Schedule schedule = schedule_named(letter);
    if (plan::check(schedule).empty() && !timeline_of(schedule).stuck.empty()) return letter;
  }
  SHOAL_CHECK(false, "no schedule of lab 6 deadlocks");
}

// The action that a rank of the deadlocked schedule never begins.
std::string stands_at(int rank) {
  const plan::Schedule schedule = schedule_named(deadlocked_schedule());
  const size_t done = timeline_of(schedule).ranks[static_cast<size_t>(rank)].actions.size();
  return plan::action_name(schedule.actions(rank).at(done), schedule.shape());
}

// The pass that the incomplete schedule lacks: the last word of "never runs B2".
std::string missing_pass() {
  const std::string what = plan::check(schedule_named(incomplete_schedule())).front().what;
  return what.substr(what.rfind(' ') + 1);
}

config::Loaded broken(const std::vector<std::string>& sets) {
  return config::load_text(
      content_of(6, "broken.yaml"),
      {.file = "broken.yaml", .sets = sets, .job = config::JobSize{kLayoutRanks}});
}

int64_t problems_with_tp_2() {
  const config::Loaded loaded = broken({"parallel.tp=2"});
  SHOAL_CHECK(loaded.found.problems.empty(), "{}",
              config::report("broken.yaml", loaded.found.problems));
  return static_cast<int64_t>(plan::why_not(loaded.config, kLayoutRanks).size());
}

std::string schedule_not_mended(const fs::path& directory) {
  const plan::Schedule schedule = plan::read_schedule(directory / "fixed_schedule.txt");
  const plan::Schedule wrong = schedule_named(deadlocked_schedule());
  if (schedule.shape() != wrong.shape())
    return format("fixed_schedule.txt has {} ranks and {} micro-batches instead of {} and {}",
                  schedule.ranks(), schedule.micro_batches(), wrong.ranks(), wrong.micro_batches());
  plan::require_complete(schedule, "fixed_schedule.txt");
  const plan::Simulation run = timeline_of(schedule);
  run.require_finished("fixed_schedule.txt");
  const double best = timeline_of(plan::one_f_one_b(wrong.shape())).seconds;
  if (run.seconds > best)
    return format("fixed_schedule.txt ends, but after {:.6g} seconds: 1f1b needs {:.6g}",
                  run.seconds, best);
  return "";
}

std::string layout_not_mended(const fs::path& directory) {
  const config::RunConfig mended = config::load_or_throw(
      {.file = directory / "fixed.yaml", .job = config::JobSize{kLayoutRanks}});
  const config::RunConfig wrong = broken({}).config;
  for (const config::Difference& change : config::diff(wrong, mended)) {
    if (change.key.starts_with("model.") || change.key.starts_with("train."))
      return format(
          "fixed.yaml is to change the section `parallel` alone, and {} is {} instead of {}",
          change.key, change.after, change.before);
  }
  if (mended.parallel.tp < 2 || mended.parallel.pp < 2 || mended.parallel.chunks < 2)
    return "fixed.yaml is to keep a tp, a pp and chunks of 2";
  plan::require_layout(mended, kLayoutRanks);
  plan::require_proven(mended, kLayoutRanks);
  return "";
}

}  // namespace

std::vector<Question> layout_questions() {
  return {
      choice("incomplete", "Which of schedule_a, schedule_b and schedule_c lacks a pass?",
             "`shoal schedule FILE` reports every rank that never runs something.", {"a", "b", "c"},
             incomplete_schedule()),
      word("missing_pass", "Which pass is missing there? Write it as the file would: F3, say.",
           "The report ends with its name.", missing_pass()),
      choice("deadlock", "Which one is complete, and never ends?",
             "Its report says `never ends: its ranks wait for each other`.", {"a", "b", "c"},
             deadlocked_schedule()),
      word("stands_at_0", "At which pass does rank 0 stand for ever in the deadlocked schedule?",
           "The report says for each rank where it stands and what it waits for.", stands_at(0)),
      word("stands_at_2", "And rank 2?", "Likewise, in the line of rank 2.", stands_at(2)),
      deed("fixed_schedule",
           "Write fixed_schedule.txt: the deadlocked schedule with its passes in another order, so "
           "that it ends, and no later than 1f1b would.",
           schedule_not_mended),
      whole(
          "problems",
          "`shoal plan check lab6/broken.yaml --ranks 4` names one problem. Set parallel.tp to 2: "
          "how many problems does it name then?",
          "The number stands in the first line of the report.", problems_with_tp_2()),
      deed("fixed_layout",
           "Write fixed.yaml: broken.yaml with another section `parallel`, so that it runs on 4 "
           "ranks with a tp, a pp and chunks of 2. The model and the batch stay.",
           layout_not_mended),
  };
}

}  // namespace shoal::course
