#include "shoal/plan/rank_clock.h"

#include <algorithm>
#include <utility>

#include "shoal/core/format.h"

namespace shoal::plan {

std::string_view spent_name(Spent spent) {
  constexpr std::array<std::string_view, kNumSpent> kNames = {"products",
                                                              "attention",
                                                              "functions that move bytes",
                                                              "waiting for the host",
                                                              "slowed by communication beside",
                                                              "calls of the tensor group",
                                                              "waiting for weights",
                                                              "waiting for gradients",
                                                              "waiting for other stages",
                                                              "loss and norm"};
  return kNames[static_cast<size_t>(spent)];
}

std::string shares_in_words(const RankTime& time) {
  constexpr double kLeast = 0.01;
  std::vector<std::pair<double, Spent>> shares;
  for (int i = 0; i < kNumSpent; ++i) {
    const auto what = static_cast<Spent>(i);
    const double share = time.by(what) / time.seconds;
    if (share >= kLeast) shares.emplace_back(share, what);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words;
  for (const auto& [share, what] : shares)
    words += format("{}{:.0f} % {}", words.empty() ? "" : ", ", 100 * share, spent_name(what));
  return words;
}

RankClock::RankClock(const config::ClusterConfig& cluster, ClockObserver observe)
    : cluster_(cluster), observe_(std::move(observe)) {}

void RankClock::begin_step() { step_ = {}; }

void RankClock::spend(Spent what, double seconds) {
  if (observe_ && seconds > 0) observe_(what, /*beside=*/false, now_, now_ + seconds);
  now_ += seconds;
  step_.seconds += seconds;
  step_.spent[static_cast<size_t>(what)] += seconds;
}

void RankClock::wait_until(double when, Spent what) {
  if (when > now_) spend(what, when - now_);
}

void RankClock::launch(int functions) {
  step_.launches += functions;
  const double began = cluster_.device.queued ? host_ : now_;
  host_ = began + functions * cluster_.device.launch_us * 1e-6;
}

double RankClock::busy_until(Link link, const Stream* except) const {
  double until = 0;
  for (const Stream& stream : streams_) {
    if (stream.link == link && &stream != except) until = std::max(until, stream.free_from);
  }
  return until;
}

const config::LinkSpec& RankClock::link_of(Link link) const {
  return link == Link::kNode ? cluster_.node : cluster_.network;
}

void RankClock::slow_down(double seconds) {
  for (const Link link : {Link::kNode, Link::kNetwork}) {
    // As much of the work as is done beside the communication takes 1 / (1 - share) of its time.
    const double share = link_of(link).device_share;
    const double beside = std::max(0.0, busy_until(link, nullptr) - now_);
    const double most = share < 1 ? seconds * share / (1 - share) : beside;
    spend(Spent::kSlowed, std::min(beside * share, most));
  }
}

void RankClock::compute(const ComputeSeconds& seconds) {
  launch(seconds.launches);
  if (!cluster_.device.queued) wait_until(host_, Spent::kLaunches);
  slow_down(seconds.device());
  spend(Spent::kProducts, seconds.products);
  spend(Spent::kAttention, seconds.attention);
  spend(Spent::kMemory, seconds.memory);
  wait_until(host_, Spent::kLaunches);
}

double RankClock::beside_others(const CallSeconds& call, double begin, const Stream* except) const {
  const double shared = std::max(0.0, busy_until(call.link, except) - begin);
  return call.seconds + std::min(shared / 2, call.seconds);
}

void RankClock::receive(const CallSeconds& call) {
  launch(1);
  spend(Spent::kSlowed, call.seconds * link_of(call.link).device_share);
}

void RankClock::call(const std::vector<CallSeconds>& calls, Spent what) {
  for (const CallSeconds& call : calls) {
    launch(1);
    spend(what, beside_others(call, now_, nullptr));
  }
  if (cluster_.device.queued) wait_until(host_, Spent::kLaunches);
}

double RankClock::start(StreamId id, const std::vector<CallSeconds>& calls, Spent what) {
  auto stream = std::find_if(streams_.begin(), streams_.end(),
                             [&](const Stream& known) { return known.id == id; });
  if (stream == streams_.end()) stream = streams_.insert(streams_.end(), Stream{.id = id});
  for (const CallSeconds& call : calls) {
    launch(1);
    const double begin = std::max({stream->free_from, now_, host_});
    stream->link = call.link;
    stream->free_from = begin + beside_others(call, begin, &*stream);
    if (observe_) observe_(what, /*beside=*/true, begin, stream->free_from);
  }
  return std::max(stream->free_from, now_);
}

}  // namespace shoal::plan
