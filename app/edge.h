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
  std::string_view summary;
  // The words after the name; returns the exit code.
  int (*run)(const std::vector<std::string>& arguments);
};

// Runs one command of the table. For both executables; `words` are those after the program's own
// name.
int run_command(std::span<const Command> commands, const std::vector<std::string>& words);

// All of main(): the command that argv names, and what becomes of its errors and output.
int run_main(std::span<const Command> commands, int argc, char** argv);

// Exit code of the exception being handled, after saying on standard error, and to a supervisor,
// what it was.
int report_current_exception();

// What was written to standard output has to arrive: `code` if it did, else an error.
int finish_output(int code);

}  // namespace shoal::app
