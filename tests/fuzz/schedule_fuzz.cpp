// Any bytes as the file of a schedule: read or refused with a DataError. What can be read is the same
// when it is written and read again. Complete schedules end or name ranks that wait, and both can be
// drawn.

#include <string_view>

#include "shoal/core/error.h"
#include "shoal/plan/schedule_check.h"
#include "shoal/plan/schedule_picture.h"
#include "shoal/plan/schedule_simulation.h"
#include "shoal/plan/schedule_text.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::plan;  // NOLINT(google-build-using-namespace)
using shoal::tests::read_or_refuse;
using shoal::tests::require;

// Small enough that a run takes no longer than reading the text.
constexpr int64_t kMostPasses = 1 << 14;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedule = read_or_refuse([&] { return schedule_from_text(text, "fuzz.txt"); });
  if (!schedule) return 0;
  require(schedule_from_text(to_text(*schedule), "again") == *schedule);
  if (int64_t{schedule->stages()} * schedule->micro_batches() > kMostPasses) return 0;
  const bool is_complete = check(*schedule).empty();
  const Simulation run = simulate(*schedule, even_times(*schedule, {.transfer = 0.25}));
  require(!picture(*schedule, run, kMinPictureWidth).empty());
  for (int rank = 0; rank < schedule->ranks(); ++rank) {
    const size_t done = run.ranks[static_cast<size_t>(rank)].actions.size();
    require(done <= schedule->actions(rank).size());
    if (run.stuck.empty()) require(done == schedule->actions(rank).size());
  }
  if (is_complete && run.stuck.empty()) require(run.seconds > 0);
  return 0;
}
