// subprocess.h -- starts programs without a shell, with a clean signal mask; they never outlive
// this process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "shoal/cluster/step_page.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

struct Program {
  std::vector<std::string> arguments;              // [0] is looked up in PATH unless it holds a '/'
  std::map<std::string, std::string> environment;  // added to ours
  std::string output = "";     // file for standard output and error; empty: ours
  std::string name = "";       // "rank 3 on n2": what a supervisor calls it
  std::vector<int> cpus = {};  // that it may run on; empty: those of this process
  // Sent to its standard input, which then stays open until this process ends or drops the Child.
  std::optional<std::string> input = std::nullopt;
};

// A started program in a process group of its own, killed when this thread ends.
struct Child {
  pid_t pid = -1;
  UniqueFd death;       // a pidfd: readable once the program has ended
  UniqueFd last_words;  // what the program wrote to the descriptor named in SHOAL_LAST_WORDS_FD
  StepPage steps;       // what it told by a StepReport
  UniqueFd input;       // its standard input, a socket, if the Program has one
};

// Starts a program. Throws UsageError when that is not possible.
Child start(const Program& program);

// Sends the line that a supervisor shows as the reason why this process failed; does nothing
// without a supervisor.
void leave_last_words(const std::string& line);

// Whether a supervisor has started this process.
bool has_supervisor();

// Returns the standard output of a program, at most 1 MiB; empty when it cannot run, fails, or
// takes too long.
std::string output_of(const std::vector<std::string>& arguments, Duration patience);

}  // namespace shoal::cluster
