// A run on several threads has the same bits each time, also the first in a process.

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/verify/side.h"

namespace shoal::verify {
namespace {

config::RunConfig small_config() {
  return config::load_or_throw(
      {.sets = {"train.batch=12", "train.precision=fp64", "train.steps=5", "model.context=64",
                "model.vocab_size=257", "model.layers=2", "model.width=64", "model.heads=4"}});
}

// Returns the losses of a first and a second run in a process that has computed nothing before.
std::array<double, 2> losses_of_new_process(const config::RunConfig& config) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    at::set_num_threads(2);
    const auto world = comm::World::join({}, cluster::Environment(), {});
    const parallel::Ranks alone = parallel::Ranks::alone(*world);
    std::array<double, 2> losses{};
    for (double& loss : losses) {
      Side side(config, alone);
      loss = side.gradients_of(0).item<double>();
    }
    const bool told = ::write(ends[1], losses.data(), sizeof(losses)) == sizeof(losses);
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::array<double, 2> losses{};
  EXPECT_EQ(::read(ends[0], losses.data(), sizeof(losses)), ssize_t{sizeof(losses)});
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return losses;
}

// Without make_first_calls() one process in sixty differed; --gtest_repeat=20 repeats the test to
// find that.
TEST(Threads, TheFirstStepOfAProcessHasTheBitsOfAllOthers) {
  constexpr int kProcesses = 60;
  const config::RunConfig config = small_config();
  const double usual = losses_of_new_process(config)[1];
  EXPECT_GT(usual, 5);
  for (int i = 0; i < kProcesses; ++i) {
    const std::array<double, 2> losses = losses_of_new_process(config);
    EXPECT_EQ(losses[0], usual) << "process " << i << ", first run";
    EXPECT_EQ(losses[1], usual) << "process " << i << ", second run";
  }
}

}  // namespace
}  // namespace shoal::verify
