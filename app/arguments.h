// arguments.h -- the command line of one command.
//
//   Arguments arguments("shoal launch", "Start the ranks of this host.");
//   arguments.option("--ranks", ranks, "ranks to start", {.shown = "N", .required = true});
//   if (!arguments.parse(words)) return 0;       // --help was asked for and printed
//
// CLI11 does the work, in arguments.cpp alone: its headers take longer to compile than any command.
// Wrong words are a UsageError that says how to see the help.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::app {

struct ArgumentDetails {
  std::string shown = "";  // stands for the value in the help: "N", "FILE"
  bool required = false;
  std::optional<std::pair<int, int>> range = std::nullopt;  // of a number, both ends included
  std::string needs = "";                                   // only together with this option
  bool writes = false;  // the value is a file to write: refused before the work where it cannot be
};

class Arguments {
 public:
  Arguments(const std::string& command, const std::string& description);
  Arguments(Arguments&&) noexcept;
  ~Arguments();

  // "--name" is an option, "name" the next word without one. A vector takes the option several
  // times.
  void option(const std::string& name,
              std::string& value,
              const std::string& help,
              const ArgumentDetails& details = {});
  void option(const std::string& name,
              std::optional<std::string>& value,
              const std::string& help,
              const ArgumentDetails& details = {});
  void option(const std::string& name,
              std::vector<std::string>& values,
              const std::string& help,
              const ArgumentDetails& details = {});
  void option(const std::string& name,
              int& value,
              const std::string& help,
              const ArgumentDetails& details = {});
  void option(const std::string& name,
              std::optional<int>& value,
              const std::string& help,
              const ArgumentDetails& details = {});
  void option(const std::string& name,
              double& value,
              const std::string& help,
              const ArgumentDetails& details = {});
  void flag(const std::string& name, bool& value, const std::string& help);

  // Adds a subcommand, of which one must be chosen; `chosen` runs after all words have been read.
  Arguments subcommand(const std::string& name,
                       const std::string& description,
                       std::function<void()> chosen);

  void footer(const std::string& text);

  // Parses the words after the command's name. Returns false when they asked for help, the manual page
  // or a completion, which has then been printed.
  bool parse(const std::vector<std::string>& words);

 private:
  struct Parser;

  explicit Arguments(std::unique_ptr<Parser> parser);

  std::unique_ptr<Parser> parser_;
};

// Returns whether a word asks about a command, as --help does, instead of having it run.
bool asks_about_command(const std::string& word);

// Creates the directory that an option or a key of the config names if it does not exist. Throws
// UsageError when it cannot.
void make_output_directory(const std::string& path, const std::string& option = "--output");

}  // namespace shoal::app
