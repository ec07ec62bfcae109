#include "shoal/cluster/rank_process.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/process_stat.h"

namespace shoal::cluster {
namespace {

// The exit code of ssh when there is no connection, or no more.
constexpr int kConnectionLost = 255;

std::string last_words_of(const Child& child) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(child.last_words.get(), buffer.data(), buffer.size());
  std::string text(buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? format("signal {}", number) : format("SIG{}", name);
}

RankProcess::RankProcess(const Program& program) : name_(program.name), child_(start(program)) {}

bool RankProcess::start_again(const Program& program) {
  bury(/*kills=*/true);
  try {
    child_ = start(program);
  } catch (const Error& error) {
    not_started_ = error;
    ended_ = Clock::now();
    return false;
  }
  began_ = Clock::now();
  running_ = true;
  told_to_kill_ = sent_kill_ = left_behind_ = false;
  return true;
}

void RankProcess::bury(bool kills) {
  const pid_t pid = std::exchange(child_.pid, -1);
  if (pid <= 0) return;  // another was to take its place, and could not be started
  if (kills) ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, left_behind_ ? WNOHANG : 0);
}

void RankProcess::leave_behind() {
  status_ = W_EXITCODE(0, SIGKILL);
  running_ = false;
  ended_ = Clock::now();
  last_words_ = last_words_of(child_);
  left_behind_ = true;
}

void RankProcess::send(int signal) {
  const bool kills = signal == SIGKILL && std::exchange(told_to_kill_, true);
  if (is_launcher() && !kills) {
    const auto byte = static_cast<char>(signal);
    ::send(child_.input.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  } else {
    ::kill(-child_.pid, signal);
    sent_kill_ = sent_kill_ || signal == SIGKILL;
  }
}

bool RankProcess::has_just_ended() {
  siginfo_t end{};
  if (!running_ ||
      ::waitid(P_PID, static_cast<id_t>(child_.pid), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      end.si_pid == 0)
    return false;
  status_ = end.si_code == CLD_EXITED ? W_EXITCODE(end.si_status, 0) : W_EXITCODE(0, end.si_status);
  running_ = false;
  ended_ = Clock::now();
  last_words_ = last_words_of(child_);
  out_of_memory_ = false;
  return true;
}

bool RankProcess::is_suspended() const {
  const std::optional<ProcessStat> stat = process_stat(std::to_string(child_.pid));
  return stat && stat->state == 'T';
}

int RankProcess::exit_code() const {
  if (not_started_) return static_cast<int>(not_started_->exit_code());
  return was_signalled() ? kSignalExitBase + WTERMSIG(status_) : WEXITSTATUS(status_);
}

bool RankProcess::was_signalled() const { return !not_started_ && WIFSIGNALED(status_); }

bool RankProcess::was_killed() const { return was_signalled() && WTERMSIG(status_) == SIGKILL; }

bool RankProcess::has_lost_a_peer() const {
  return exit_code() == static_cast<int>(ExitCode::kRequeue);
}

std::string RankProcess::cause() const {
  if (not_started_) return format("{} could not be started again: {}", name_, not_started_->what());
  const double lived = std::chrono::duration<double>(ended_ - began_).count();
  const std::string how =
      left_behind_      ? "was killed and does not end, held by the kernel: it is left behind,"
      : was_signalled() ? format("was killed by {}{}", signal_name(WTERMSIG(status_)),
                                 out_of_memory_ ? ", out of memory," : "")
                        : format("ended with exit code {}", exit_code());
  const StepsTold told = steps();
  const std::string place = told.last ? format(" in step {}", *told.last + 1) : "";
  return format("{} (pid {}) {}{} after {:.1f} s{}", name_, child_.pid, how, place, lived,
                last_words_.empty() ? "" : ": " + last_words_);
}

bool RankProcess::is_unreachable() const {
  return is_launcher() && (sent_kill_ || exit_code() == kConnectionLost);
}

}  // namespace shoal::cluster
