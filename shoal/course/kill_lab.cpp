#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/course/lab.h"
#include "shoal/course/run_files.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;

constexpr double kSameAfterKill = 1e-4;  // relative: other layouts in fp32, over a hundred steps

// The last start that resumed the run, and the one before it.
struct Resumed {
  Start before;
  Start start;
};

Resumed resumed_run(const fs::path& directory) {
  const std::vector<Start> starts = starts_of(directory / "runs/killed");
  for (size_t i = starts.size(); i-- > 1;) {
    const bool both_ran = !starts[i - 1].losses.empty() && !starts[i].losses.empty();
    if (both_ran && starts[i].losses.begin()->first > 1)
      return {.before = starts[i - 1], .start = starts[i]};
  }
  throw DataError(starts.size() < 2
                      ? "runs/killed was started only once: kill it, then start it again"
                      : "runs/killed was started again from step 0: add train.init_from=resume");
}

// Steps that were done, and lost.
int64_t lost_steps(const fs::path& directory) {
  const Resumed run = resumed_run(directory);
  const int64_t done = run.before.losses.rbegin()->first;
  return std::max<int64_t>(done - run.start.losses.begin()->first + 1, 0);
}

int64_t resumed_from(const fs::path& directory) {
  return resumed_run(directory).start.losses.begin()->first - 1;
}

std::string not_killed(const fs::path& directory) {
  if (lost_steps(directory) == 0)
    return "no step was lost: the run was asked to stop, and saved first. Use kill -9, between two "
           "checkpoints";
  return "";
}

std::string not_moved(const fs::path& directory) {
  const int64_t step = resumed_from(directory);
  const auto layouts = layouts_of(directory / "runs/killed");
  const auto before = layouts.find(step);
  if (before == layouts.end())
    return format("the checkpoint of step {} is gone: keep `keep` of run.yaml as it is", step);
  if (before == std::prev(layouts.end())) return "there is no checkpoint from after the resume yet";
  if (layouts.rbegin()->second == before->second)
    return format("the run was resumed on the layout that it had: {}", before->second);
  return "";
}

std::string not_continued(const fs::path& directory) {
  const Resumed run = resumed_run(directory);
  if (const std::string twice =
          first_difference(run.before.losses, run.start.losses, kSameAfterKill);
      !twice.empty())
    return "before the kill and after it: " + twice;
  const auto whole_run = read_losses(directory / "runs/whole");
  const auto losses = read_losses(directory / "runs/killed");
  if (losses.empty() || whole_run.empty() || losses.rbegin()->first != whole_run.rbegin()->first ||
      losses.size() != whole_run.size())
    return format("runs/whole has {} steps and runs/killed {}: let both end", whole_run.size(),
                  losses.size());
  if (const std::string apart = first_difference(whole_run, losses, kSameAfterKill); !apart.empty())
    return "the whole run and the killed one: " + apart;
  return "";
}

}  // namespace

std::vector<Question> kill_questions() {
  return {
      deed("killed", "Kill the run runs/killed with kill -9 between two checkpoints.", not_killed),
      deed("moved", "Resume it on another layout than it had.", not_moved),
      deed("continued",
           "Let it end. The losses of the steps that were done twice must agree, and all losses "
           "with "
           "those of runs/whole, to 1 in 10,000.",
           not_continued),
      whole("resumed_from", "From the checkpoint of which step was your run resumed?",
            "It is the newest directory that was in runs/killed/checkpoints when you killed "
            "the run.",
            resumed_from),
      whole("lost_steps", "How many steps had been done, and were lost with the kill?",
            "The last step in metrics.csv right after the kill, which you have copied to "
            "after_kill.csv, minus that of the checkpoint.",
            lost_steps),
      choice(
          "sigterm",
          "What would `kill` without -9 (SIGTERM) have done: `lost` the steps as well, or `saved` "
          "them?",
          "docs/checkpoints.md says when checkpoints are written.", {"lost", "saved"}, "saved"),
  };
}

}  // namespace shoal::course
