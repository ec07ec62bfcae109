#include "ranks.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

[[noreturn]] void be_rank(const std::function<int()>& run, const std::string& errors, int seconds) {
  const int file = open(errors.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  dup2(file, STDERR_FILENO);
  alarm(unsigned(seconds));
  int code = 1;
  try {
    code = run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fflush(nullptr);
  std::_Exit(code);
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::vector<RankResult> run_ranks(int ranks,
                                  const std::function<int(int rank, const std::string& store)>& run,
                                  int seconds) {
  char directory[] = "/tmp/softcuda-ranks-XXXXXX";
  if (!mkdtemp(directory)) std::abort();
  const std::string store = std::string(directory) + "/store";
  const auto errors = [&](int rank) {
    return std::string(directory) + "/errors" + std::to_string(rank);
  };
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) be_rank([&] { return run(rank, store); }, errors(rank), seconds);
    processes.push_back(process);
  }
  std::vector<RankResult> results;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(processes[size_t(rank)], &status, 0);
    results.push_back({WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0, contents(errors(rank))});
    unlink(errors(rank).c_str());
  }
  unlink(store.c_str());
  rmdir(directory);
  return results;
}
