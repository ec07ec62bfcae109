#include "shoal/train/stragglers.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ATen/ATen.h>

#include "shoal/core/activity.h"
#include "shoal/core/format.h"

namespace shoal::train {
namespace {

// Returns the smaller one of two: the other may be the slow one.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Stragglers::Stragglers(comm::World& world, const plan::Mesh& mesh) : world_(world) {
  for (int rank = 0; rank < world.size(); ++rank)
    stage_of_.push_back(mesh.coordinate(rank, plan::Axis::kPp));
}

void Stragglers::begin_step() {
  began_ = Clock::now();
  waited_before_ = Activity::waited();
}

std::vector<Stragglers::Slow> Stragglers::end_step() {
  std::vector<Slow> slow;
  if (asked_.defined()) {
    later_.wait();
    slow = not_yet_told(judge(std::exchange(asked_, {})));
  }
  const std::chrono::duration<double> waited = Activity::waited() - waited_before_;
  window_.push_back(std::max(0.0, seconds_since(began_) - waited.count()));
  if (window_.size() < kWindow) return slow;
  const double own = lower_median(std::exchange(window_, {}));
  if (world_.size() == 1) return slow;
  asked_ = at::zeros({world_.size()}, at::kDouble);
  asked_.mutable_data_ptr<double>()[world_.rank()] = own;
  later_ = world_.control().all_reduce_later(asked_, comm::Reduce::kSum, "own times of ranks");
  return slow;
}

std::string Stragglers::names(const std::vector<Slow>& slow) const {
  constexpr size_t kMostNamed = 4;
  const std::vector<std::string> hosts = world_.hosts();
  std::string text;
  for (size_t i = 0; i < std::min(slow.size(), kMostNamed); ++i) {
    const Slow& each = slow[i];
    text += format(
        "{}rank {} on {} computes {:.2f} times as long as others of its stage ({:.1f} ms "
        "of its own in a step, others {:.1f} ms)",
        i == 0 ? "" : "; ", each.rank, hosts[static_cast<size_t>(each.rank)],
        each.seconds / each.others, each.seconds * 1e3, each.others * 1e3);
  }
  if (slow.size() > kMostNamed) text += format("; and {} more", slow.size() - kMostNamed);
  return text;
}

std::vector<Stragglers::Slow> Stragglers::not_yet_told(std::vector<Slow> slow) {
  std::set<int> now;
  for (const Slow& each : slow) now.insert(each.rank);
  std::erase_if(told_, [&](int rank) { return !now.contains(rank); });
  std::erase_if(slow, [&](const Slow& each) {
    return !slow_before_.contains(each.rank) || !told_.insert(each.rank).second;
  });
  slow_before_ = std::move(now);
  return slow;
}

std::vector<Stragglers::Slow> Stragglers::judge(const at::Tensor& medians) const {
  const double* of_rank = medians.const_data_ptr<double>();
  std::map<int, std::vector<double>> of_stage;
  for (size_t rank = 0; rank < stage_of_.size(); ++rank)
    of_stage[stage_of_[rank]].push_back(of_rank[rank]);
  std::vector<Slow> slow;
  for (size_t rank = 0; rank < stage_of_.size(); ++rank) {
    const double others = lower_median(of_stage.at(stage_of_[rank]));
    if (of_rank[rank] > kTooSlow * others)
      slow.push_back({static_cast<int>(rank), of_rank[rank], others});
  }
  std::sort(slow.begin(), slow.end(), [](const Slow& a, const Slow& b) {
    return a.seconds / a.others > b.seconds / b.others;
  });
  return slow;
}

}  // namespace shoal::train
