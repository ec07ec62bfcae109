// Runs a function as several ranks, each in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

struct RankResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  std::string errors;  // what it wrote to standard error
};

// Forks; `run` gets the rank and the path of a file for a store, and returns the exit code. Call it before anything in
// this process has used a GPU. A rank that takes longer than `seconds` is killed.
std::vector<RankResult> run_ranks(int ranks,
                                  const std::function<int(int rank, const std::string& store)>& run,
                                  int seconds = 40);
