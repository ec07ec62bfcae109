// rank_process.h -- one of the programs that a launcher has started: whether it runs, and in words how
// it has ended.
//
//   RankProcess rank(program);
//   if (rank.has_just_ended()) rank.cause();   // "rank 3 (pid 4711) was killed by SIGKILL after 12.3 s"
//
// A program whose standard input is ours (Program::input) is a launcher on another host: it gets a signal
// as a byte with its number.
#pragma once

#include <optional>
#include <string>

#include "shoal/cluster/subprocess.h"
#include "shoal/core/error.h"

namespace shoal::cluster {

class RankProcess {
 public:
  explicit RankProcess(const Program& program);

  // Starts the program that takes its place; what is left of this one is killed. False when that is not
  // possible: then it has ended, and cause() says why.
  bool start_again(const Program& program);
  // Forgets a process that has ended, or kills it. `kills` ends what it has left of its process group:
  // until then the group's number is its own.
  void bury(bool kills);
  // Gives up one that does not end though it was killed.
  void leave_behind();

  // Sends a signal to its process group. A launcher on another host kills its ranks when it is told to,
  // and is killed itself, with its connection, when that does not end it.
  void send(int signal);

  // Returns whether it has ended since the last call.
  bool has_just_ended();
  // Notes that the kernel has killed somebody for want of memory when this one was killed.
  void note_out_of_memory() { out_of_memory_ = true; }

  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int death() const { return child_.death.get(); }  // readable once it has ended
  [[nodiscard]] StepsTold steps() const { return child_.steps.read(); }
  [[nodiscard]] bool is_suspended() const;  // such a rank is the reason why its peers wait

  // These tell of a process that has ended.
  [[nodiscard]] Clock::time_point ended() const { return ended_; }
  [[nodiscard]] int exit_code() const;  // 128 + n for a signal
  [[nodiscard]] bool was_signalled() const;
  [[nodiscard]] bool was_killed() const;  // by SIGKILL
  [[nodiscard]] bool has_lost_a_peer() const;
  [[nodiscard]] std::string cause() const;  // one line, with its last words

  [[nodiscard]] bool is_launcher() const { return child_.input.valid(); }
  // Whether SIGKILL was sent to the process itself.
  [[nodiscard]] bool was_sent_a_kill() const { return sent_kill_; }
  // Whether the connection to a launcher was lost, or it did not end when it was told to.
  [[nodiscard]] bool is_unreachable() const;

 private:
  std::string name_;
  Child child_;
  bool running_ = true;
  int status_ = 0;  // as waitpid would give it
  std::string last_words_;
  std::optional<Error> not_started_ = std::nullopt;  // in the place of another
  bool out_of_memory_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point ended_ = {};
  bool told_to_kill_ = false;  // a launcher, its ranks
  bool sent_kill_ = false;     // a launcher only when it did not end though it was told to
  bool left_behind_ = false;
};

std::string signal_name(int number);

}  // namespace shoal::cluster
