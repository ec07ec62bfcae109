#include "shoal/cluster/restarts.h"

#include <algorithm>

#include "shoal/core/error.h"

namespace shoal::cluster {

bool may_go_better(int exit_code, const StepsTold& steps) {
  const auto is = [exit_code](ExitCode each) { return exit_code == static_cast<int>(each); };
  return exit_code > kSignalExitBase || is(ExitCode::kRequeue) || is(ExitCode::kStuck) ||
         is(ExitCode::kStorage) || is(ExitCode::kBug) || (is(ExitCode::kUnequal) && steps.first);
}

// None after the first failure, then longer each time.
Duration Restarts::wait_after(int failures) const {
  if (failures == 0) return Duration(0);
  Duration wait = options_.first_wait;
  for (int i = 1; i < failures && wait < options_.longest_wait; ++i) wait *= 2;
  return std::min(wait, options_.longest_wait);
}

std::optional<Replacement> Restarts::replacement(const RankEnd& end) {
  if (!may_go_better(end.exit_code, end.steps)) return std::nullopt;
  if (count_ >= options_.most) return Replacement{};
  ++count_;
  const bool has_stepped = end.steps.first && *end.steps.last > *end.steps.first;
  not_called_ = has_stepped ? 0 : not_called_ + 1;
  return Replacement{.wait = wait_after(not_called_)};
}

Restarts::Verdict Restarts::after(const JobResult& result) {
  Verdict verdict{.wait = std::nullopt, .exit_code = result.exit_code, .note = ""};
  if (options_.most == 0 || result.exit_code == 0 || result.asked_to_stop ||
      !may_go_better(result.exit_code, result.steps))
    return verdict;
  const std::optional<int64_t> first = result.steps.first;
  const bool began_later = first && (!first_before_ || *first > *first_before_);
  // Ranks that have not met, and a disk that is full, say nothing of whether the job would make progress.
  const bool not_begun = !first && (result.exit_code == static_cast<int>(ExitCode::kRequeue) ||
                                    result.exit_code == static_cast<int>(ExitCode::kStorage));
  not_begun_ = not_begun ? not_begun_ + 1 : 0;
  if (!not_begun) without_progress_ = began_later ? 1 : without_progress_ + 1;
  if (began_later) first_before_ = first;
  // Whether a program that tells no steps makes progress is not known.
  if (first_before_ && !not_begun && without_progress_ >= options_.cycles_without_progress) {
    verdict.exit_code = static_cast<int>(ExitCode::kNoProgress);
    verdict.note = format(
        "given up: it began at step {} {} times and always failed before the next checkpoint",
        *first_before_ + 1, without_progress_);
    return verdict;
  }
  if (count_ == options_.most) {
    verdict.note = format("given up after {} restarts", count_);
    return verdict;
  }
  ++count_;
  const Duration wait = wait_after((not_begun ? not_begun_ : without_progress_) - 1);
  verdict.wait = wait;
  verdict.note = format("restart {} of {}{}", count_, options_.most,
                        wait.count() > 0 ? " in " + format_duration(wait) : "");
  return verdict;
}

}  // namespace shoal::cluster
