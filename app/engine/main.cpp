// The executable shoal-engine has the commands that need torch. `shoal` executes it for the
// commands below; users never call it.

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <thread>

#include <c10/util/Logging.h>

#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"

#include "app/edge.h"
#include "app/engine/cmd_bench.h"
#include "app/engine/cmd_doctor.h"
#include "app/engine/cmd_eval.h"
#include "app/engine/cmd_generate.h"
#include "app/engine/cmd_plan_execute.h"
#include "app/engine/cmd_train.h"
#include "app/engine/cmd_verify.h"
#include "app/engine/engine_facts.h"

namespace {

constexpr std::array<shoal::app::Command, 8> kCommands = {{
    {"doctor", "what this build, host and job can do", shoal::app::run_engine_doctor},
    {"train", "train a model as a config says", shoal::app::run_train},
    {"generate", "text that a model writes behind a prompt", shoal::app::run_generate},
    {"eval", "loss, perplexity and multiple choice of a model", shoal::app::run_eval},
    {"verify", "does a layout train like one rank?", shoal::app::run_verify},
    {"plan", "a step of each role of a layout, without memory and peers",
     shoal::app::run_plan_execute},
    {"bench", "measured ceilings, and how close shoal gets", shoal::app::run_bench},
    {"--version", "", shoal::app::print_engine_version},
}};

// A usage error is usually the same on every rank: rank 0 reports it, and its exit makes the
// launcher stop the others while they wait here. A rank that is still alive afterwards has an error
// of its own.
constexpr std::chrono::seconds kTimeForRankZero{3};

bool may_be_rank_zero() {
  try {
    const auto environment = shoal::cluster::Environment::of_this_process();
    return shoal::cluster::detect_membership(environment).rank == 0;
  } catch (const shoal::Error&) {
    return true;  // the environment itself is invalid: rank 0 is unknown
  }
}

// `shoal train` blocks SIGTERM in order to save before it ends. Here there is nothing to save, and
// the launcher's wish is all that is waited for.
void let_launcher_end_this() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void give_rank_zero_time(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const shoal::UsageError&) {
    if (may_be_rank_zero()) return;
    let_launcher_end_this();
    std::this_thread::sleep_for(kTimeForRankZero);
  } catch (...) {  // other errors are this rank's own
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Libraries log errors that we report ourselves; a user's setting wins.
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", /*overwrite=*/0);
  c10::initLogging();
  int code = 0;
  try {
    code = shoal::app::finish_output(shoal::app::run_command(kCommands, {argv + 1, argv + argc}));
  } catch (...) {
    give_rank_zero_time(std::current_exception());
    code = shoal::app::report_current_exception();
  }
  std::cout << std::flush;
  // A backend's thread may still wait for a lost peer: destructors of static objects would wait for it,
  // or it would use what they have destroyed. Otherwise profilers write what they have counted.
  if (code != 0 || shoal::comm::World::destroys_groups()) std::_Exit(code);
  return code;
}
