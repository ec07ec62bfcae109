#include "shoal/cluster/supervisor.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include <poll.h>

#include "shoal/cluster/descriptors.h"
#include "shoal/cluster/launcher_signals.h"
#include "shoal/cluster/rank_process.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/process_stat.h"
#include "shoal/core/stop_signals.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostNamed = 8;
// For ranks that have lost a peer to notice: the last does so at its next collective.
constexpr Duration kToNotice = std::chrono::seconds(5);
// Between two looks at the kernel's count of kills for want of memory.
constexpr Duration kMemoryLook = std::chrono::seconds(5);
// Slurm may send one SIGINT to a launcher on two ways: by itself, and through srun.
constexpr Duration kSameInterrupt = std::chrono::seconds(2);

struct Rank {
  Program program;
  RankProcess process;
  bool first = false;
  std::optional<Clock::time_point> judged_at = std::nullopt;  // whether another takes its place
  std::optional<Clock::time_point> again_at = std::nullopt;   // it is started then
  bool replaced = false;  // the job has gone on without it: how it ends does not matter any more

  // Whether it takes part only when it is called in: a spare rank, or one in the place of another.
  [[nodiscard]] bool waits() const {
    const StepsTold steps = process.steps();
    return !steps.first && (steps.replaceable || replaced);
  }
};

class Job {
 public:
  explicit Job(const SuperviseOptions& options) : options_(options) {}

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // A job that failed is started again: what its ranks have started themselves must not be in the way.
  ~Job() {
    const bool failed = cause_ != nullptr && !asked_to_stop_;
    for (Rank& rank : ranks_) rank.process.bury(rank.process.running() || failed);
  }

  void start_all(const std::vector<Program>& programs) {
    size_t descriptors = 0;  // as Child has them
    for (const Program& program : programs) descriptors += program.input ? 4 : 3;
    need_descriptors(descriptors, format("supervising {} processes", programs.size()));
    ranks_.reserve(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      Program program = programs[i];
      if (program.name.empty()) program.name = format("rank {}", i);
      ranks_.push_back({.program = program, .process = RankProcess(program), .first = i == 0});
    }
  }

  JobResult run() {
    while (num_running() > 0 || is_judging()) {
      wait_for_news(time_to_next_step());
      while (const std::optional<Received> signal = inbox_.take())
        receive(signal->number, signal->typed);
      take_orders();
      reap();
      replace_ranks();
      escalate();
      look_at_memory();
    }
    return conclude();
  }

 private:
  [[nodiscard]] size_t num_running() const {
    return static_cast<size_t>(std::count_if(
        ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.process.running(); }));
  }

  [[nodiscard]] bool is_judging() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const Rank& rank) { return rank.judged_at || rank.again_at; });
  }

  // Until a signal arrives, a rank ends, or the time is over. Deaths are seen through pidfds and
  // not SIGCHLD, which another thread of this process might swallow.
  void wait_for_news(Duration patience) const {
    std::vector<pollfd> entries = {{inbox_.fd(), POLLIN, 0}, {orders_, POLLIN, 0}};
    for (const Rank& rank : ranks_) {
      if (rank.process.running()) entries.push_back({rank.process.death(), POLLIN, 0});
    }
    ::poll(entries.data(), entries.size(),
           static_cast<int>(std::max<int64_t>(patience.count(), 0)));
  }

  void send_to_all(int number) {
    for (Rank& rank : ranks_) {
      if (rank.process.running()) rank.process.send(number);
    }
  }

  void kill_all() {
    send_to_all(SIGKILL);
    killed_ = true;
    kill_at_ = Clock::now() + options_.time_to_obey;
  }

  // A process that a driver or a file system holds in the kernel cannot be killed. A launcher that waited
  // for it would hold the rest of the job for ever.
  void leave_behind_what_was_killed() {
    for (Rank& rank : ranks_) {
      if (!rank.process.running() || !rank.process.was_sent_a_kill()) continue;
      rank.process.leave_behind();
      if (rank.replaced) continue;
      log::error("{}", rank.process.cause());
      if (cause_ == nullptr) cause_ = &rank;
    }
  }

  void take_orders() {
    while (const std::optional<Order> order = take_order(orders_)) {
      if (asks_to_stop(order->number)) receive(order->number);
      if (order->number == SIGKILL) {
        asked_to_stop_ = true;
        kill_all();
      }
      if (!order->last) continue;
      orders_ = -1;
      kill_at_ = Clock::now() + options_.grace;
    }
  }

  void receive(int number, bool typed = false) {
    asked_to_stop_ = true;
    if (cause_ == nullptr) asked_by_ = number;
    if (number == SIGINT && interrupted_at_) {
      // Whoever presses the keys twice means it.
      if (typed || Clock::now() >= *interrupted_at_ + kSameInterrupt) kill_all();
      return;
    }
    if (number == SIGINT) interrupted_at_ = Clock::now();
    send_to_all(number);
  }

  void reap() {
    for (Rank& rank : ranks_) {
      RankProcess& process = rank.process;
      if (!process.has_just_ended()) continue;
      if (process.was_killed() && !killed_ && out_of_memory_kills() > out_of_memory_before_)
        process.note_out_of_memory();
      if (process.exit_code() == 0 || is_dispensable(rank)) continue;
      if (cause_ != nullptr && !knows_better(rank)) continue;
      cause_ = &rank;
      std::erase(stopped_, process.name());
    }
  }

  // Whether this end explains more than that of the cause so far. A rank that was told to end may fail
  // because of that. A launcher elsewhere returns what its ranks failed with before, after it has waited
  // for the last of them.
  [[nodiscard]] bool knows_better(const Rank& rank) const {
    if (distance(rank) >= distance(*cause_)) return false;
    return !told_ || (rank.process.is_launcher() && !killed_ && !rank.process.is_unreachable() &&
                      rank.process.exit_code() != kSignalExitBase + SIGTERM);
  }

  // The kernel counts those it has killed for want of memory, on the whole host. What it did long before
  // a rank was killed has nothing to do with that.
  void look_at_memory() {
    const Clock::time_point now = Clock::now();
    if (now < memory_seen_ + kMemoryLook) return;
    memory_seen_ = now;
    out_of_memory_before_ = std::exchange(out_of_memory_latest_, out_of_memory_kills());
  }

  // Returns whether the others may go on without a rank that has failed.
  bool is_dispensable(Rank& rank) {
    // The ranks that take part save what there is to save: they need longer.
    if (asked_to_stop_ && rank.waits() && rank.process.has_lost_a_peer()) return true;
    if (!options_.replace || !(rank.replaced || rank.process.steps().replaceable)) return false;
    if (!goes_on()) return rank.replaced;
    // Whoever ends by itself may be one of many: then the job has failed.
    const RankProcess& process = rank.process;
    rank.judged_at = process.ended() + (process.was_signalled()     ? Duration(0)
                                        : process.has_lost_a_peer() ? kToNotice
                                                                    : options_.settle);
    return true;
  }

  // Starts ranks in the place of those that have failed, when their time has come.
  void replace_ranks() {
    const Clock::time_point now = Clock::now();
    for (Rank& rank : ranks_) {
      if (!goes_on()) {
        rank.judged_at.reset();
        rank.again_at.reset();
      }
      if (rank.judged_at) judge(rank, now);
      if (!rank.again_at || now < *rank.again_at) continue;
      rank.again_at.reset();
      if (!rank.process.start_again(rank.program)) cause_ = &rank;
    }
    if (goes_on() && the_others_are_done()) end_replacements();
  }

  [[nodiscard]] bool goes_on() const { return cause_ == nullptr && !asked_to_stop_ && !done_; }

  // Whether nobody of this host takes part any more or has ended well, and those that run wait to be
  // called in: when all others have lost their peers, the job has failed elsewhere.
  [[nodiscard]] bool is_left_alone() const {
    return std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.process.running() ? !rank.waits()
                                    : !rank.replaced && rank.process.exit_code() == 0;
    });
  }

  void judge(Rank& rank, Clock::time_point now) {
    const RankProcess& process = rank.process;
    const bool alone = process.has_lost_a_peer() && is_left_alone();
    if (!alone && now < *rank.judged_at) return;
    rank.judged_at.reset();
    const RankEnd end{.exit_code = process.exit_code(),
                      .cause = process.cause(),
                      .steps = process.steps(),
                      .was_replacement = rank.replaced};
    const std::optional<Replacement> replacement =
        alone ? std::nullopt : options_.replace(end, rank.program);
    if (alone || (!replacement && !rank.replaced)) {
      cause_ = &rank;
      return;
    }
    rank.replaced = true;
    if (replacement && replacement->wait) rank.again_at = process.ended() + *replacement->wait;
  }

  // Whether ranks that were never replaced have all ended well: then nobody calls one in any more that
  // has not taken a step, or was left out because it is suspended.
  [[nodiscard]] bool the_others_are_done() const {
    bool any = false;
    for (const Rank& rank : ranks_) {
      const bool running = rank.process.running();
      const StepsTold steps = rank.process.steps();
      if (running && steps.replaceable && rank.process.is_suspended()) continue;
      if (rank.replaced ? running && steps.first : running || rank.judged_at.has_value())
        return false;
      any = any || !rank.replaced;
    }
    return any;
  }

  void end_replacements() {
    done_ = true;
    for (Rank& rank : ranks_) {
      rank.again_at.reset();
      rank.replaced = rank.replaced || rank.process.running();
    }
    kill_all();
  }

  // From the first cause, whichever end was noticed first: a reason of its own comes before "a peer is
  // gone"; of those who say the latter, the first knows best: rank 0 holds the store.
  [[nodiscard]] static int distance(const Rank& rank) {
    if (!rank.process.has_lost_a_peer()) return 0;
    return rank.first ? 1 : 2;
  }

  // Nothing, then SIGTERM, then SIGKILL, each when its time has come.
  void escalate() {
    const Clock::time_point now = Clock::now();
    if (kill_at_ && now >= *kill_at_) {
      leave_behind_what_was_killed();
      kill_all();
    }
    if (cause_ == nullptr || num_running() == 0 || told_) return;
    const RankProcess& cause = cause_->process;
    const bool settled = !cause.has_lost_a_peer() || now >= cause.ended() + options_.settle;
    if (!settled) return;
    for (const Rank& rank : ranks_) {
      const RankProcess& process = rank.process;
      if (process.running())
        stopped_.push_back(process.name() + (process.is_suspended() ? " (suspended)" : ""));
    }
    send_to_all(SIGTERM);
    send_to_all(SIGCONT);  // a stopped process receives SIGTERM only once it runs
    told_ = true;
    const Duration grace =
        asked_to_stop_ ? options_.grace : options_.grace_after_failure.value_or(options_.grace);
    if (!kill_at_ && !killed_) kill_at_ = now + grace;
  }

  [[nodiscard]] Duration time_to_next_step() const {
    Clock::time_point next = memory_seen_ + kMemoryLook;
    if (kill_at_) next = std::min(next, *kill_at_);
    if (cause_ != nullptr && !told_)
      next = std::min(next, cause_->process.ended() + options_.settle);
    for (const Rank& rank : ranks_) {
      if (rank.judged_at) next = std::min(next, *rank.judged_at);
      if (rank.again_at) next = std::min(next, *rank.again_at);
    }
    return std::chrono::ceil<Duration>(next - Clock::now());
  }

  // When the first cause is a peer that is gone, those that did not notice are the ones to look at: a
  // rank that hangs is still there, while everybody who waits for it has given up.
  [[nodiscard]] std::string others_in_words() const {
    if (stopped_.empty()) return "";
    const bool suspects = cause_->process.has_lost_a_peer() && stopped_.size() <= kMostNamed;
    if (!suspects) return format("; stopped the {} still running", stopped_.size());
    return format("; stopped {}, still running", listed(stopped_));
  }

  [[nodiscard]] JobResult conclude() const {
    const StepsTold steps = (cause_ == nullptr ? ranks_.front() : *cause_).process.steps();
    if (cause_ == nullptr) return {.asked_to_stop = asked_to_stop_, .steps = steps};
    const std::string asked = asked_by_ ? format("passed {} on; ", signal_name(*asked_by_)) : "";
    return {.exit_code = cause_->process.exit_code(),
            .cause = asked + cause_->process.cause() + others_in_words(),
            .program = static_cast<size_t>(cause_ - ranks_.data()),
            .unreachable = unreachable(),
            .asked_to_stop = asked_to_stop_,
            .steps = steps};
  }

  [[nodiscard]] std::vector<size_t> unreachable() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].process.is_unreachable()) found.push_back(i);
    }
    return found;
  }

  SuperviseOptions options_;
  SignalInbox inbox_;
  int64_t out_of_memory_latest_ = out_of_memory_kills();
  int64_t out_of_memory_before_ = out_of_memory_latest_;  // one look earlier: a kill takes its time
  Clock::time_point memory_seen_ = Clock::now();
  std::vector<Rank> ranks_;
  const Rank* cause_ = nullptr;
  std::vector<std::string> stopped_;  // ranks that were running when they were told to end
  int orders_ = options_.orders;
  std::optional<Clock::time_point> kill_at_;
  bool told_ = false;  // to end, because a rank has failed
  bool done_ = false;  // those who are left need not be waited for
  bool killed_ = false;
  std::optional<Clock::time_point> interrupted_at_;  // by the first SIGINT
  bool asked_to_stop_ = false;
  std::optional<int> asked_by_;  // the signal that asked the job to stop before a rank failed
};

}  // namespace

JobResult supervise(const std::vector<Program>& programs, const SuperviseOptions& options) {
  Job job(options);
  job.start_all(programs);
  return job.run();
}

}  // namespace shoal::cluster
