// edge.h -- the outermost layer of both executables: picks the command, turns errors into one line
// and an exit code.
//
// Nothing below catches everything, and nothing below exits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::app {

struct Command {
  std::string_view name;
  std::string_view summary;  // a command without one is not listed
  // Takes the words after the name; returns the exit code.
  int (*run)(const std::vector<std::string>& arguments);
};

// Runs one command of the table. For both executables; `words` are those after the program's own
// name.
int run_command(std::span<const Command> commands, const std::vector<std::string>& words);

// The body of main(): runs the command that argv names, and reports its errors.
int run_main(std::span<const Command> commands, int argc, char** argv);

// Returns the exit code of the exception being handled, after reporting it on standard error and to
// a supervisor.
int report_current_exception();

// Flushes standard output; returns `code` if that succeeds, else reports an error.
int finish_output(int code);

}  // namespace shoal::app
