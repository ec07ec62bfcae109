#include "app/edge.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "shoal/cluster/subprocess.h"
#include "shoal/config/text.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/core/file_error.h"
#include "shoal/core/nearest.h"
#include "shoal/version.h"

#include "app/completion.h"
#include "app/manual_page.h"

namespace shoal::app {
namespace {

constexpr const char* kExitCodes =
    "exit codes: 0 done, 1 not equal, 2 usage or config, 3 data, 16/17 numerics, 70 bug, 71 stuck, "
    "74 storage, 75 please requeue, 76 no progress, 128+n signal";

void print_usage(std::span<const Command> commands) {
  std::cout << "shoal " << kVersion
            << " -- pre-training of language models, from one CPU process to thousands of GPUs\n\n"
            << "usage: shoal COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands) {
    if (!command.summary.empty())
      std::cout << format("  {:<10} {}\n", command.name, command.summary);
  }
  std::cout << "\nshoal COMMAND --help explains a command.\n" << kExitCodes << "\n";
}

[[noreturn]] void refuse(const std::string& word, std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  const auto meant = nearest(word, names);
  throw UsageError(format("shoal has no command '{}'{} (see shoal --help)", word,
                          meant ? format("; did you mean '{}'?", *meant) : ""));
}

int report(ExitCode code, std::string_view kind, const std::string& message) {
  const std::string text = config::printable(message);  // it may quote bytes of any file
  write_error_line(painted(kind, Colour::kRed, console_of(STDERR_FILENO)) + ": " + text);
  cluster::leave_last_words(text);
  return static_cast<int>(code);
}

int report_lack_of_memory(const std::string& said) {
  return report(ExitCode::kData, "error",
                said + "; `shoal plan CONFIG` tells how much a rank needs, and for what");
}

// The words typed so far, the last one perhaps not whole: prints how it can go on.
int complete(std::span<const Command> commands, std::vector<std::string> words) {
  // Behind `shoal launch ... --` another command begins.
  if (const auto dashes = std::find(words.begin(), words.end(), "--");
      dashes != words.end() && dashes + 1 != words.end())
    words.erase(words.begin(), dashes + 1);
  const std::string typed = words.empty() ? "" : words.front();
  if (words.size() > 1) {
    words.emplace_back(kCompleteWord);
    return run_command(commands, words);
  }
  for (const Command& command : commands)
    if (!command.summary.empty() && command.name.starts_with(typed))
      std::cout << command.name << "\n";
  return 0;
}

CommandText text_of(std::span<const Command> commands) {
  std::string description =
      "Pre-training of language models, from one CPU process to thousands of GPUs.\n\n";
  for (const Command& command : commands)
    if (!command.summary.empty())
      description += format("  shoal-{:<12} {}\n", format("{}(1)", command.name), command.summary);
  return {.name = "shoal",
          .description = description,
          .options = {{.name = "--help", .shown = "", .help = "list the commands"},
                      {.name = "--version", .shown = "", .help = "commit, engine and backends"}},
          .subcommands = {},
          .footer = kExitCodes};
}

}  // namespace

int run_command(std::span<const Command> commands, const std::vector<std::string>& words) {
  if (words.empty()) {
    print_usage(commands);
    throw UsageError("shoal needs a command, such as `shoal doctor` (see shoal --help)");
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_usage(commands);
    return 0;
  }
  if (words[0] == "complete") return complete(commands, {words.begin() + 1, words.end()});
  if (words[0] == kManualWord) {
    std::cout << manual_page(text_of(commands));
    return 0;
  }
  for (const Command& command : commands) {
    if (command.name == words[0]) return command.run({words.begin() + 1, words.end()});
  }
  refuse(words[0], commands);
}

int run_main(std::span<const Command> commands, int argc, char** argv) {
  try {
    return finish_output(run_command(commands, {argv + 1, argv + argc}));
  } catch (...) {
    return report_current_exception();
  }
}

int report_current_exception() {
  try {
    throw;
  } catch (const BugError& e) {
    return report(ExitCode::kBug, "bug", e.what());
  } catch (const Error& e) {
    return report(e.exit_code(), "error", e.what());
  } catch (const std::bad_alloc&) {
    return report_lack_of_memory("out of memory");
  } catch (const std::filesystem::filesystem_error& e) {
    return report(exit_code_of_file_error(e.code().value()), "error", e.what());
  } catch (const std::exception& e) {
    const std::string text = first_line(e);
    // torch's CPU allocator throws its own general error: "... can't allocate memory: you tried to
    // allocate 123 bytes. ..."
    const size_t memory = text.find("you tried to allocate");
    if (memory != std::string::npos) {
      const size_t end = text.find('.', memory);
      return report_lack_of_memory("out of memory: " + text.substr(memory, end - memory));
    }
    // That of a GPU: "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of
    // ..."
    if (text.find("out of memory") != std::string::npos)
      return report_lack_of_memory(text.substr(0, text.find(" If reserved")));
    return report(ExitCode::kBug, "bug", text);
  }
}

int finish_output(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout) return code;
  if (errno == 0) {  // an earlier write failed, and its reason is gone: a byte more meets it again
    std::cout.clear();
    (std::cout << '\n').flush();
  }
  if (errno == EPIPE) return kSignalExitBase + SIGPIPE;  // `shoal ... | head` has seen enough
  return report(ExitCode::kData, "error",
                format("cannot write to standard output: {}",
                       errno == 0 ? "an earlier write failed" : describe_errno(errno)));
}

}  // namespace shoal::app
