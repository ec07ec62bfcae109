#include "shoal/cluster/watcher.h"

#include <algorithm>
#include <utility>

#include "shoal/cluster/address.h"
#include "shoal/core/console.h"
#include "shoal/core/log.h"
#include "shoal/core/stack.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostDescribed = 4;
constexpr size_t kLongestBeat = 400;
constexpr size_t kMostFramesShown = 16;
constexpr Duration kForAStack = std::chrono::milliseconds(200);
// A rank whose peers are lost hears of it from its own calls as well, and says it better.
constexpr Duration kForBetterWords = std::chrono::milliseconds(300);
constexpr const char* kLostKey = "watch/lost";

std::string beat_key(int rank) { return format("watch/beat/{}", rank); }
std::string silent_key(int rank) { return format("watch/silent/{}", rank); }

// A beat is its number, a blank, and what the rank is doing.
std::string words_of(const std::string& beat) {
  return printable(beat.substr(std::min(beat.size(), beat.find(' ') + 1), kLongestBeat));
}

// In whole seconds, from one on: nobody needs more.
std::string rounded(Clock::duration time) {
  if (time < std::chrono::seconds(1)) return format_duration(std::chrono::round<Duration>(time));
  return format_duration(std::chrono::round<std::chrono::seconds>(time));
}

bool is_step(const ActivityBoard::Line& line) { return line.thread == kStepThread; }

}  // namespace

HeartbeatMonitor::HeartbeatMonitor(WatcherOptions options, Clock::time_point now)
    : options_(std::move(options)),
      silence_(silence_of(options_.deadline)),
      period_(std::max(silence_ / 4, Duration(10))),
      tick_(std::clamp<Duration>(
          options_.deadline / 20, Duration(20), Duration(options_.on_look ? 250 : 1000))),
      checked_(now),
      next_beat_(now + period_) {
  if (options_.rank == 0) others_.resize(static_cast<size_t>(options_.world_size));
  if (options_.store) beat();
  forget_times(now);
}

Clock::time_point HeartbeatMonitor::next_check(Clock::time_point now) const {
  return options_.store ? std::min(now + tick_, next_beat_) : now + tick_;
}

void HeartbeatMonitor::check(Clock::time_point now) {
  // Nobody was checked while this rank, or the whole job, was suspended.
  if (now - std::exchange(checked_, now) > silence_ / 2) forget_times(now);
  check_self(now);
  if (options_.on_look) options_.on_look();
  if (!options_.store || now < next_beat_) return;
  next_beat_ = now + period_;
  beat();
  if (options_.rank == 0) check_peers(now);
}

std::string HeartbeatMonitor::doing() const {
  const int64_t steps = steps_done_;
  std::string text = steps < 0 ? "before the first step" : format("in step {}", steps + 1);
  for (const ActivityBoard::Line& line : options_.board->snapshot()) {
    if (line.what.empty() || (line.pace == Pace::kOthers && !is_step(line))) continue;
    text += is_step(line) ? ", " + line.what : format("; {}: {}", line.thread, line.what);
  }
  return text.substr(0, kLongestBeat);
}

void HeartbeatMonitor::beat() {
  options_.store->set(beat_key(options_.rank),
                      format("{} on {}, {}", ++beats_, host_name(), doing()), silence_);
  if (options_.store->check({kLostKey}))
    throw PeerLost(words_of("- " + options_.store->get(kLostKey, silence_)));
}

void HeartbeatMonitor::check_peers(Clock::time_point now) {
  std::vector<std::string> keys;
  for (int rank = 1; rank < options_.world_size; ++rank) keys.push_back(beat_key(rank));
  if (keys.empty()) return;
  const std::vector<std::string> beats = options_.store->get(keys, silence_);
  std::vector<std::string> lost;
  std::vector<int> silent;
  for (int rank = 1; rank < options_.world_size; ++rank) {
    SeenRank& seen = others_[static_cast<size_t>(rank)];
    const std::string& beat = beats[static_cast<size_t>(rank) - 1];
    if (std::exchange(seen.beat, beat) != beat) {
      seen.since = now;
      if (std::exchange(seen.told, false)) options_.store->remove(silent_key(rank));
      continue;
    }
    if (now - seen.since >= period_ * 5 / 2 && !std::exchange(seen.told, true))
      options_.store->set(silent_key(rank), "");
    if (seen.told) silent.push_back(rank);
    if (now - seen.since < silence_) continue;
    lost.push_back(format("rank {} does not answer for {}, last heard of {}", rank,
                          rounded(now - seen.since), words_of(beat)));
  }
  if (lost.empty()) return;
  if (options_.on_silent) options_.on_silent(silent);
  std::string text;
  for (size_t i = 0; i < std::min(lost.size(), kMostDescribed); ++i)
    text += (i == 0 ? "" : "; ") + lost[i];
  if (lost.size() > kMostDescribed) text += format("; and {} more", lost.size() - kMostDescribed);
  options_.store->set(kLostKey, text);
  throw PeerLost(text);
}

void HeartbeatMonitor::check_self(Clock::time_point now) {
  const std::vector<ActivityBoard::Line> lines = options_.board->snapshot();
  for (const ActivityBoard::Line& line : lines) {
    SeenThread& seen = own_[line.tid];
    if (seen.changes != line.changes) seen = {.changes = line.changes, .since = now};
    const Duration stuck = std::chrono::round<Duration>(now - seen.since);
    // It is not known of a thread that says nothing whether it waits for others.
    const bool works = !line.what.empty() && line.pace == Pace::kOwn;
    if (is_step(line) && works && stuck >= patience_of(options_.deadline))
      report_stuck(lines, stuck);
  }
}

// One rank alone keeps nobody waiting: it may be slow, and is left alone.
void HeartbeatMonitor::report_stuck(const std::vector<ActivityBoard::Line>& lines, Duration stuck) {
  if (std::exchange(reported_, true)) return;
  const std::string what = format("rank {} on {} has made no progress for {} {}", options_.rank,
                                  host_name(), rounded(stuck), doing());
  log::error("{}", what);
  for (const ActivityBoard::Line& line : lines) {
    if (line.what.empty() && !is_step(line)) continue;
    const ThreadStack stack = stack_of(line.tid, kForAStack);
    log::error("thread {} {}:", line.thread, stack.state);
    const size_t shown = std::min(stack.frames.size(), kMostFramesShown);
    for (size_t i = 0; i < shown; ++i) log::error("  {}", stack.frames[i]);
  }
  if (options_.world_size > 1) throw Error(ExitCode::kStuck, what);
}

void HeartbeatMonitor::forget_times(Clock::time_point now) {
  for (SeenRank& seen : others_) seen.since = now;
  for (auto& [tid, seen] : own_) seen.since = now;
}

Watcher::Watcher(const WatcherOptions& options)
    : rank_(options.rank), on_end_(options.on_end), monitor_(options, Clock::now()) {
  thread_ = std::thread([this] { run(); });
}

Watcher::~Watcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watcher::run() {
  std::unique_lock lock(mutex_);
  const auto ends = [this] { return ending_; };
  while (!changed_.wait_until(lock, monitor_.next_check(Clock::now()), ends)) {
    try {
      monitor_.check(Clock::now());
    } catch (const PeerLost& lost) {
      if (changed_.wait_for(lock, kForBetterWords, ends)) return;
      on_end_(PeerLost(format("rank {}: {}", rank_, lost.what())));
      return;
    } catch (const Error& error) {
      on_end_(error);
      return;
    }
  }
}

std::string what_they_do(StoreClient& store, const std::vector<int>& ranks, Duration patience) {
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kMostDescribed); ++i) {
    const int rank = ranks[i];
    if (!store.check({beat_key(rank)})) continue;
    text += store.check({silent_key(rank)})
                ? format("; rank {} does not answer", rank)
                : format("; rank {} is {}", rank, words_of(store.get(beat_key(rank), patience)));
  }
  return text;
}

}  // namespace shoal::cluster
