// command_text.h -- what a command says about itself, from which its manual page and the completion of
// shells are made. Arguments fills it in from the options that the command reads, so it cannot say
// anything else than the command does.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

struct OptionText {
  std::string name;   // "--ranks"; empty for a word without an option
  std::string shown;  // what its value is called: "N"; empty for a flag
  std::string help;
  bool required = false;
};

struct CommandText {
  std::string name;  // "shoal plan search"
  std::string description;
  std::vector<OptionText> options;
  std::vector<CommandText> subcommands;
  std::string footer;
};

}  // namespace shoal::app
