#include "shoal/cluster/supervisor.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <optional>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shoal/cluster/descriptors.h"
#include "shoal/cluster/launcher_signals.h"
#include "shoal/core/error.h"
#include "shoal/core/process_stat.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostNamed = 8;
// The exit code of ssh when there is no connection, or no more.
constexpr int kConnectionLost = 255;
// For ranks that have lost a peer to notice: the last does so at its next collective.
constexpr Duration kToNotice = std::chrono::seconds(5);
// Between two looks at the kernel's count of kills for want of memory.
constexpr Duration kMemoryLook = std::chrono::seconds(5);

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? format("signal {}", number) : format("SIG{}", name);
}

struct Rank {
  Program program;
  std::string name;  // "rank 3"
  bool first = false;
  Child child;
  bool running = true;
  int status = 0;              // as waitpid would give it
  bool out_of_memory = false;  // it was killed, and the kernel has killed somebody for that
  Clock::time_point began = Clock::now();
  Clock::time_point ended = {};
  std::optional<Clock::time_point> judged_at = std::nullopt;  // whether another takes its place
  std::optional<Clock::time_point> again_at = std::nullopt;   // it is started then
  bool told_to_kill = false;                                  // a launcher, its ranks
  bool cut_off = false;   // a launcher that did not end when it was told to
  bool replaced = false;  // the job has gone on without it: how it ends does not matter any more

  [[nodiscard]] int exit_code() const {
    return WIFSIGNALED(status) ? kSignalExitBase + WTERMSIG(status) : WEXITSTATUS(status);
  }
};

// Kills what a rank has left of its process group, and forgets it: until then its number is its own.
void bury(const Child& child, bool kills) {
  if (child.pid <= 0) return;  // another was to take its place, and could not be started
  if (kills) ::kill(-child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
}

class Job {
 public:
  explicit Job(const SuperviseOptions& options) : options_(options) {}

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // A job that failed is started again: what its ranks have started themselves must not be in the way.
  ~Job() {
    const bool failed = cause_ != nullptr && !asked_to_stop_;
    for (const Rank& rank : ranks_) bury(rank.child, rank.running || failed);
  }

  void start_all(const std::vector<Program>& programs) {
    need_descriptors(3 * programs.size(), format("supervising {} ranks", programs.size()));
    ranks_.reserve(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      const std::string& name = programs[i].name;
      ranks_.push_back({.program = programs[i],
                        .name = name.empty() ? format("rank {}", i) : name,
                        .first = i == 0,
                        .child = start(programs[i])});
    }
  }

  JobResult run() {
    while (num_running() > 0 || is_judging()) {
      wait_for_news(time_to_next_step());
      while (const std::optional<int> number = inbox_.take()) receive(*number);
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
    return static_cast<size_t>(
        std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; }));
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
      if (rank.running) entries.push_back({rank.child.death.get(), POLLIN, 0});
    }
    ::poll(entries.data(), entries.size(),
           static_cast<int>(std::max<int64_t>(patience.count(), 0)));
  }

  void send_to_all(int number) {
    for (Rank& rank : ranks_) {
      if (rank.running) send_to(rank, number);
    }
  }

  // A launcher on another host kills its ranks when it is told to, and is killed itself, with its
  // connection, when that does not end it.
  static void send_to(Rank& rank, int number) {
    const bool kills = number == SIGKILL && std::exchange(rank.told_to_kill, true);
    if (rank.child.input.valid() && !kills) {
      const auto byte = static_cast<char>(number);
      ::send(rank.child.input.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else {
      ::kill(-rank.child.pid, number);  // the whole process group
      rank.cut_off = rank.child.input.valid();
    }
  }

  void kill_all() {
    send_to_all(SIGKILL);
    killed_ = true;
    kill_at_.reset();
    const bool ordered = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.running && rank.child.input.valid() && !rank.cut_off;
    });
    if (ordered) kill_at_ = Clock::now() + options_.time_to_obey;
  }

  void take_orders() {
    while (const std::optional<Order> order = take_order(orders_)) {
      if (is_passed_on(order->number)) receive(order->number);
      if (order->number == SIGKILL) {
        asked_to_stop_ = true;
        kill_all();
      }
      if (!order->last) continue;
      orders_ = -1;
      kill_at_ = Clock::now() + options_.grace;
    }
  }

  void receive(int number) {
    const bool again = number == SIGINT && interrupted_;
    interrupted_ = interrupted_ || number == SIGINT;
    asked_to_stop_ = asked_to_stop_ || asks_to_stop(number);
    if (asks_to_stop(number) && cause_ == nullptr) asked_by_ = number;
    if (again) return kill_all();
    send_to_all(number);
  }

  void reap() {
    for (Rank& rank : ranks_) {
      siginfo_t end{};
      if (!rank.running ||
          ::waitid(P_PID, static_cast<id_t>(rank.child.pid), &end, WEXITED | WNOHANG | WNOWAIT) !=
              0 ||
          end.si_pid == 0)
        continue;
      rank.status =
          end.si_code == CLD_EXITED ? W_EXITCODE(end.si_status, 0) : W_EXITCODE(0, end.si_status);
      rank.running = false;
      rank.ended = Clock::now();
      rank.out_of_memory = WIFSIGNALED(rank.status) && WTERMSIG(rank.status) == SIGKILL &&
                           !killed_ && out_of_memory_kills() > out_of_memory_before_;
      if (rank.exit_code() == 0 || is_dispensable(rank)) continue;
      if (cause_ == nullptr || (!told_ && distance(rank) < distance(*cause_))) cause_ = &rank;
    }
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
    if (!options_.replace || !(rank.replaced || rank.child.steps.read().replaceable)) return false;
    if (!goes_on()) return rank.replaced;
    // Whoever ends by itself may be one of many: then the job has failed.
    rank.judged_at = rank.ended + (WIFSIGNALED(rank.status) ? Duration(0)
                                   : has_lost_a_peer(rank)  ? kToNotice
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
      bury(std::exchange(rank.child, {}), /*kills=*/true);
      rank.child = start(rank.program);
      rank.began = now;
      rank.running = true;
    }
    if (goes_on() && the_others_are_done()) end_replacements();
  }

  [[nodiscard]] static bool has_lost_a_peer(const Rank& rank) {
    return rank.exit_code() == static_cast<int>(ExitCode::kRequeue);
  }

  [[nodiscard]] bool goes_on() const { return cause_ == nullptr && !asked_to_stop_ && !done_; }

  // Whether nobody of this host takes part any more or has ended well, and those that run wait to be
  // called in: when all others have lost their peers, the job has failed elsewhere.
  [[nodiscard]] bool is_left_alone() const {
    return std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      const StepsTold steps = rank.child.steps.read();
      const bool waits = !steps.first && (steps.replaceable || rank.replaced);
      return rank.running ? !waits : !rank.replaced && rank.exit_code() == 0;
    });
  }

  void judge(Rank& rank, Clock::time_point now) {
    const bool alone = has_lost_a_peer(rank) && is_left_alone();
    if (!alone && now < *rank.judged_at) return;
    rank.judged_at.reset();
    const RankEnd end{.exit_code = rank.exit_code(),
                      .cause = cause_in_words(rank),
                      .steps = rank.child.steps.read(),
                      .was_replacement = rank.replaced};
    const std::optional<Replacement> replacement =
        alone ? std::nullopt : options_.replace(end, rank.program);
    if (alone || (!replacement && !rank.replaced)) {
      cause_ = &rank;
      return;
    }
    rank.replaced = true;
    if (replacement && replacement->wait) rank.again_at = rank.ended + *replacement->wait;
  }

  // Whether ranks that were never replaced have all ended well: then nobody calls one in any more that
  // has not taken a step, or was left out because it is suspended.
  [[nodiscard]] bool the_others_are_done() const {
    bool any = false;
    for (const Rank& rank : ranks_) {
      const StepsTold steps = rank.child.steps.read();
      if (rank.running && steps.replaceable && is_suspended(rank)) continue;
      if (rank.replaced ? rank.running && steps.first : rank.running || rank.judged_at.has_value())
        return false;
      any = any || !rank.replaced;
    }
    return any;
  }

  void end_replacements() {
    done_ = true;
    for (Rank& rank : ranks_) {
      rank.again_at.reset();
      if (!rank.running) continue;
      rank.replaced = true;
      ::kill(-rank.child.pid, SIGKILL);
    }
  }

  // From the first cause, whichever end was noticed first: a reason of its own comes before "a peer is
  // gone"; of those who say the latter, the first knows best: rank 0 holds the store.
  [[nodiscard]] static int distance(const Rank& rank) {
    if (!has_lost_a_peer(rank)) return 0;
    return rank.first ? 1 : 2;
  }

  // Nothing, then SIGTERM, then SIGKILL, each when its time has come.
  void escalate() {
    const Clock::time_point now = Clock::now();
    if (kill_at_ && now >= *kill_at_) kill_all();
    if (cause_ == nullptr || num_running() == 0 || told_) return;
    const bool settled = !has_lost_a_peer(*cause_) || now >= cause_->ended + options_.settle;
    if (!settled) return;
    for (const Rank& rank : ranks_) {
      if (rank.running) stopped_.push_back(rank.name + (is_suspended(rank) ? " (suspended)" : ""));
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
    if (cause_ != nullptr && !told_) next = std::min(next, cause_->ended + options_.settle);
    for (const Rank& rank : ranks_) {
      if (rank.judged_at) next = std::min(next, *rank.judged_at);
      if (rank.again_at) next = std::min(next, *rank.again_at);
    }
    return std::chrono::ceil<Duration>(next - Clock::now());
  }

  [[nodiscard]] static std::string last_words_of(const Rank& rank) {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(rank.child.last_words.get(), buffer.data(), buffer.size());
    std::string text(buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return text.substr(0, text.find('\n'));
  }

  // Such a rank is the reason why its peers wait.
  [[nodiscard]] static bool is_suspended(const Rank& rank) {
    const std::optional<ProcessStat> stat = process_stat(std::to_string(rank.child.pid));
    return stat && stat->state == 'T';
  }

  // When the first cause is a peer that is gone, those that did not notice are the ones to look at: a
  // rank that hangs is still there, while everybody who waits for it has given up.
  [[nodiscard]] std::string others_in_words() const {
    if (stopped_.empty()) return "";
    const bool suspects = has_lost_a_peer(*cause_) && stopped_.size() <= kMostNamed;
    if (!suspects) return format("; stopped the {} still running", stopped_.size());
    return format("; stopped {}, still running", listed(stopped_));
  }

  [[nodiscard]] JobResult conclude() const {
    const StepsTold steps = (cause_ == nullptr ? ranks_.front() : *cause_).child.steps.read();
    if (cause_ == nullptr) return {.asked_to_stop = asked_to_stop_, .steps = steps};
    const std::string asked = asked_by_ ? format("passed {} on; ", signal_name(*asked_by_)) : "";
    return {.exit_code = cause_->exit_code(),
            .cause = asked + cause_in_words(*cause_) + others_in_words(),
            .program = static_cast<size_t>(cause_ - ranks_.data()),
            .unreachable = unreachable(),
            .asked_to_stop = asked_to_stop_,
            .steps = steps};
  }

  [[nodiscard]] std::vector<size_t> unreachable() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const bool is_launcher = ranks_[i].child.input.valid();
      if (ranks_[i].cut_off || (is_launcher && ranks_[i].exit_code() == kConnectionLost))
        found.push_back(i);
    }
    return found;
  }

  [[nodiscard]] static std::string cause_in_words(const Rank& rank) {
    const double lived = std::chrono::duration<double>(rank.ended - rank.began).count();
    const std::string how = WIFSIGNALED(rank.status)
                                ? format("was killed by {}{}", signal_name(WTERMSIG(rank.status)),
                                         rank.out_of_memory ? ", out of memory," : "")
                                : format("ended with exit code {}", rank.exit_code());
    const std::string words = last_words_of(rank);
    const StepsTold steps = rank.child.steps.read();
    const std::string place = steps.last ? format(" in step {}", *steps.last + 1) : "";
    return format("{} (pid {}) {}{} after {:.1f} s{}", rank.name, rank.child.pid, how, place, lived,
                  words.empty() ? "" : ": " + words);
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
  bool interrupted_ = false;
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
