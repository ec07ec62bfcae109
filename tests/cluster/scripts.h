// scripts.h -- shell scripts that stand for ranks, and signals for who supervises them.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <unistd.h>

#include "shoal/cluster/supervisor.h"
#include "shoal/core/format.h"

namespace shoal::tests {

inline cluster::Program shell(const std::string& script) {
  return {{"/bin/sh", "-c", script}, {}, ""};
}

// A script that no signal but SIGKILL ends.
inline constexpr const char* kDeaf = "trap '' TERM; while :; do sleep 0.05; done";

// A script that waits for signals, after it has made a file.
inline cluster::Program waits(const std::string& traps, const std::string& ready) {
  return shell(format("{}; : >{}; while :; do sleep 0.05; done", traps, ready));
}

// Sends this process a signal as soon as the file is there.
inline std::thread signal_us_once_there(int number, const std::string& file) {
  // Blocked before the sender starts, or the signal would end that thread's process instead.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return std::thread([number, file, parent = ::getpid()] {
    while (!std::filesystem::exists(file)) std::this_thread::yield();
    ::kill(parent, number);
  });
}

}  // namespace shoal::tests
