#include "shoal/cluster/supervisor.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <optional>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shoal/cluster/descriptors.h"
#include "shoal/core/error.h"
#include "shoal/core/process_stat.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostNamed = 8;
constexpr std::array<int, 5> kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

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
  int status = 0;              // as waitpid gives it
  bool out_of_memory = false;  // it was killed, and the kernel has killed somebody for that
  Clock::time_point began = Clock::now();
  Clock::time_point ended = {};
  std::optional<Clock::time_point> judged_at = std::nullopt;  // whether another takes its place
  std::optional<Clock::time_point> again_at = std::nullopt;   // it is started then
  bool replaced = false;  // the job has gone on without it: how it ends does not matter any more

  [[nodiscard]] int exit_code() const {
    return WIFSIGNALED(status) ? kSignalExitBase + WTERMSIG(status) : WEXITSTATUS(status);
  }
};

sigset_t forwarded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kForwarded) sigaddset(&set, number);
  return set;
}

bool asks_to_stop(int number) { return number == SIGINT || number == SIGTERM || number == SIGHUP; }

// While it lives, this thread's signals arrive through a descriptor instead of interrupting it.
class SignalInbox {
 public:
  SignalInbox() {
    const sigset_t set = forwarded_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    ::signal(SIGCHLD, SIG_DFL);  // whoever inherits SIG_IGN cannot learn how its children ended
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.valid()) throw PeerLost(format("cannot receive signals: {}", describe_errno(errno)));
  }

  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;
  ~SignalInbox() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int fd() const { return fd_.get(); }

  [[nodiscard]] std::optional<int> take() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

class Job {
 public:
  explicit Job(const SuperviseOptions& options) : options_(options) {}

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    send_to_all(SIGKILL);
    for (Rank& rank : ranks_) {
      if (rank.running) ::waitpid(rank.child.pid, nullptr, 0);
    }
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
           static_cast<int>(std::clamp<int64_t>(patience.count(), 0, 3'600'000)));
  }

  void send_to_all(int number) {
    for (const Rank& rank : ranks_) {
      if (rank.running) send_to(rank, number);
    }
  }

  static void send_to(const Rank& rank, int number) {
    if (rank.child.input.valid() && number != SIGKILL) {
      const auto byte = static_cast<char>(number);
      ::send(rank.child.input.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else {
      ::kill(-rank.child.pid, number);  // the whole process group
    }
  }

  // What a launcher on another host sends. When it is gone nobody is left to hear of this job.
  void take_orders() {
    pollfd entry{orders_, POLLIN, 0};
    while (orders_ >= 0 && ::poll(&entry, 1, 0) > 0) {
      unsigned char number = 0;
      const ssize_t got = ::read(orders_, &number, 1);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
      if (got == 1) {
        if (std::find(kForwarded.begin(), kForwarded.end(), number) != kForwarded.end())
          receive(number);
        continue;
      }
      orders_ = -1;
      receive(SIGTERM);
      kill_at_ = Clock::now() + options_.grace;
    }
  }

  void receive(int number) {
    const bool again = number == SIGINT && interrupted_;
    interrupted_ = interrupted_ || number == SIGINT;
    asked_to_stop_ = asked_to_stop_ || asks_to_stop(number);
    if (asks_to_stop(number) && cause_ == nullptr) asked_by_ = number;
    send_to_all(again ? SIGKILL : number);
  }

  void reap() {
    for (Rank& rank : ranks_) {
      if (!rank.running || ::waitpid(rank.child.pid, &rank.status, WNOHANG) != rank.child.pid)
        continue;
      rank.running = false;
      rank.ended = Clock::now();
      rank.out_of_memory = WIFSIGNALED(rank.status) && WTERMSIG(rank.status) == SIGKILL &&
                           !killed_ && out_of_memory_kills() > out_of_memory_before_;
      if (rank.exit_code() == 0 || is_dispensable(rank)) continue;
      if (cause_ == nullptr || (!told_ && distance(rank) < distance(*cause_))) cause_ = &rank;
    }
  }

  // Returns whether the others may go on without a rank that has failed.
  bool is_dispensable(Rank& rank) {
    if (!options_.replace || !(rank.replaced || rank.child.steps.read().replaceable)) return false;
    if (!goes_on()) return rank.replaced;
    // Whoever ends by itself may be one of many: then the job has failed.
    rank.judged_at = rank.ended + (WIFSIGNALED(rank.status) ? Duration(0) : options_.settle);
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
      if (rank.judged_at && now >= *rank.judged_at) judge(rank);
      if (!rank.again_at || now < *rank.again_at) continue;
      rank.again_at.reset();
      rank.child = start(rank.program);
      rank.began = now;
      rank.running = true;
    }
    if (goes_on() && the_others_are_done()) end_replacements();
  }

  [[nodiscard]] bool goes_on() const { return cause_ == nullptr && !asked_to_stop_ && !done_; }

  void judge(Rank& rank) {
    rank.judged_at.reset();
    const RankEnd end{.exit_code = rank.exit_code(),
                      .cause = cause_in_words(rank),
                      .steps = rank.child.steps.read(),
                      .was_replacement = rank.replaced};
    // When all ranks of this host have lost their peers, the job has failed elsewhere.
    const bool alone =
        rank.exit_code() == static_cast<int>(ExitCode::kRequeue) && num_running() == 0;
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
  // has not taken a step.
  [[nodiscard]] bool the_others_are_done() const {
    bool any = false;
    for (const Rank& rank : ranks_) {
      const StepsTold steps = rank.child.steps.read();
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
      if (rank.replaced && rank.running) ::kill(-rank.child.pid, SIGKILL);
    }
  }

  // From the first cause, whichever end was noticed first: a reason of its own comes before "a peer is
  // gone"; of those who say the latter, the first knows best: rank 0 holds the store.
  [[nodiscard]] static int distance(const Rank& rank) {
    if (rank.exit_code() != static_cast<int>(ExitCode::kRequeue)) return 0;
    return rank.first ? 1 : 2;
  }

  // Nothing, then SIGTERM, then SIGKILL, each when its time has come.
  void escalate() {
    const Clock::time_point now = Clock::now();
    if (kill_at_ && now >= *kill_at_) {
      send_to_all(SIGKILL);
      kill_at_.reset();
      killed_ = true;
    }
    if (cause_ == nullptr || num_running() == 0 || told_) return;
    const bool settled = cause_->exit_code() != static_cast<int>(ExitCode::kRequeue) ||
                         now >= cause_->ended + options_.settle;
    if (!settled) return;
    for (const Rank& rank : ranks_) {
      if (rank.running) stopped_.push_back(rank.name + state_of(rank));
    }
    send_to_all(SIGTERM);
    send_to_all(SIGCONT);  // a stopped process receives SIGTERM only once it runs
    told_ = true;
    const Duration grace =
        asked_to_stop_ ? options_.grace : options_.grace_after_failure.value_or(options_.grace);
    if (!kill_at_ && !killed_) kill_at_ = now + grace;
  }

  [[nodiscard]] Duration time_to_next_step() const {
    Clock::time_point next = Clock::now() + std::chrono::hours(1);
    if (kill_at_) next = *kill_at_;
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

  // A rank that was suspended is the reason why its peers wait.
  [[nodiscard]] static std::string state_of(const Rank& rank) {
    const std::optional<ProcessStat> stat = process_stat(std::to_string(rank.child.pid));
    return stat && stat->state == 'T' ? " (suspended)" : "";
  }

  // When the first cause is a peer that is gone, those that did not notice are the ones to look at: a
  // rank that hangs is still there, while everybody who waits for it has given up.
  [[nodiscard]] std::string others_in_words() const {
    if (stopped_.empty()) return "";
    const bool suspects = cause_->exit_code() == static_cast<int>(ExitCode::kRequeue) &&
                          stopped_.size() <= kMostNamed;
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
            .asked_to_stop = asked_to_stop_,
            .steps = steps};
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
  const int64_t out_of_memory_before_ = out_of_memory_kills();
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

void hold_signals() {
  const sigset_t set = forwarded_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

std::optional<int> stop_signal_within(Duration patience) {
  const sigset_t set = forwarded_signals();
  const Clock::time_point deadline = Clock::now() + patience;
  for (;;) {
    const auto left = std::max<int64_t>((deadline - Clock::now()) / std::chrono::nanoseconds(1), 0);
    const timespec time{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    const int number = ::sigtimedwait(&set, nullptr, &time);
    if (number > 0 && asks_to_stop(number)) return number;
    if (number < 0 && errno != EINTR) return std::nullopt;
  }
}

JobResult supervise(const std::vector<Program>& programs, const SuperviseOptions& options) {
  Job job(options);
  job.start_all(programs);
  return job.run();
}

}  // namespace shoal::cluster
