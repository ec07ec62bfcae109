#include "shoal/train/rank_clocks.h"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "shoal/core/error.h"

namespace shoal::train {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kBarriers = 16;

nanoseconds now() {
  return std::chrono::duration_cast<nanoseconds>(Clock::now().time_since_epoch());
}

}  // namespace

ClockOffset offset_of(const std::vector<Passage>& mine, const std::vector<Passage>& first) {
  SHOAL_CHECK(!mine.empty() && mine.size() == first.size(), "{} barriers here and {} there",
              mine.size(), first.size());
  nanoseconds most = nanoseconds::max();
  nanoseconds least = nanoseconds::min();
  for (size_t i = 0; i < mine.size(); ++i) {
    most = std::min(most, mine[i].left - first[i].entered);
    least = std::max(least, mine[i].entered - first[i].left);
  }
  return {.ahead = least + (most - least) / 2,
          .error = (most - least + nanoseconds(1)) / 2,
          .origin = first.front().entered};
}

ClockOffset align_clocks(comm::World& world) {
  comm::Control& control = world.control();
  control.barrier("clocks");  // those that come late would make the first one useless
  std::vector<Passage> mine(kBarriers);
  for (Passage& passage : mine) {
    passage.entered = now();
    control.barrier("clocks");
    passage.left = now();
  }
  const at::Tensor times = at::empty({kBarriers, 2}, at::kLong);
  auto* const of_first = times.mutable_data_ptr<int64_t>();
  if (world.rank() == 0) {
    for (size_t i = 0; i < mine.size(); ++i) {
      of_first[2 * i] = mine[i].entered.count();
      of_first[2 * i + 1] = mine[i].left.count();
    }
  }
  control.broadcast(times, 0, "clock of rank 0");
  if (world.rank() == 0) return {.origin = mine.front().entered};
  std::vector<Passage> first;
  first.reserve(mine.size());
  for (size_t i = 0; i < mine.size(); ++i)
    first.push_back({nanoseconds(of_first[2 * i]), nanoseconds(of_first[2 * i + 1])});
  return offset_of(mine, first);
}

}  // namespace shoal::train
