// paired -- two commands, run in turn: the median ratio of their times, with quartiles.
//
//   paired --a "build/release/shoal --help" --b /bin/true --rounds 51

#include <iostream>
#include <sstream>

#include "shoal/bench/paired.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/core/error.h"

#include "app/arguments.h"

namespace {

// Words separated by spaces; for anything cleverer give a script.
std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::function<void()> runner(const std::string& command) {
  const shoal::cluster::Program program{words_of(command), {}, "/dev/null"};
  if (program.arguments.empty()) throw shoal::UsageError("paired: --a and --b each need a command");
  return [program, command] {
    const shoal::cluster::JobResult result = shoal::cluster::supervise({program}, {});
    if (result.exit_code != 0)
      throw shoal::DataError(shoal::format("'{}' failed: {}", command, result.cause));
  };
}

}  // namespace

int main(int argc, char** argv) {
  std::string a;
  std::string b;
  int rounds = 21;
  try {
    shoal::app::Arguments command(
        "paired",
        "Runs two commands in turn and prints the ratio of their times: median and quartiles.");
    command.option("--a", a, "the first command", {.shown = "COMMAND", .required = true});
    command.option("--b", b, "the second command", {.shown = "COMMAND", .required = true});
    command.option("--rounds", rounds, "alternations", {.shown = "N", .range = {{21, 10001}}});
    if (!command.parse({argv + 1, argv + argc})) return 0;
    const shoal::bench::Paired result = shoal::bench::measure_paired(
        {.a = runner(a), .b = runner(b), .rounds = rounds, .calls = 1});
    std::cout << shoal::format("a {:.2f} ms, b {:.2f} ms, a / b {}\n",
                               result.a_seconds.median * 1e3, result.b_seconds.median * 1e3,
                               result.ratio.text(3))
              << shoal::format("paired.a_ms {:.3f}\npaired.b_ms {:.3f}\npaired.ratio {:.3f}\n",
                               result.a_seconds.median * 1e3, result.b_seconds.median * 1e3,
                               result.ratio.median);
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
