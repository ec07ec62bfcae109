// interpreter_bench -- what it costs that a step is a list of operations: the share of a step of GPT-2 124M that passes
// outside of its operations.
//
//   build/release/interpreter_bench                    # 1,024 tokens a step
//   build/release/interpreter_bench --tokens 128
//
// Outside is everything else that a step does: the loop over operations, taking the micro-batches, the clock that is read
// twice per operation to measure this.

#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/parallel/parallel_model.h"

#include "app/arguments.h"

namespace {

using namespace shoal;

class Inside final : public parallel::OperationListener {
 public:
  void before(const plan::Operation& /*operation*/) override { began_ = Clock::now(); }
  void after(const plan::Operation& /*operation*/) override {
    seconds_ += seconds_since(began_);
    ++operations_;
  }

  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] int64_t operations() const { return operations_; }

 private:
  Clock::time_point began_;
  double seconds_ = 0;
  int64_t operations_ = 0;
};

int run(const std::vector<std::string>& words) {
  int tokens = 1024;
  int steps = 5;
  app::Arguments command("interpreter_bench", "The share of a step outside of its operations.");
  command.option("--tokens", tokens, "of a step", {.shown = "N"});
  command.option("--steps", steps, "that are measured, behind one that is not", {.shown = "N"});
  if (!command.parse(words)) return 0;
  const config::RunConfig config = config::load_or_throw(
      {.sets = {"model.vocab_size=50257", "train.batch=1", "train.precision=fp32"}});
  const auto world = comm::World::record(/*rank=*/0, /*world_size=*/1, nullptr);
  const parallel::Ranks ranks = parallel::Ranks::alone(*world);
  parallel::ParallelModel model(config, ranks, {.seed = 1});
  model::Pass pass{.tokens = at::randint(50257, {1, tokens}, at::kLong), .training = true};
  pass.targets = {.classes = at::randint(50257, {tokens}, at::kLong)};
  for (int step = 0; step <= steps; ++step) {
    Inside inside;
    const auto began = Clock::now();
    model.forward_backward({&pass, 1}, {.lr = 1e-4, .listener = &inside});
    model.update(&inside);
    const double whole = seconds_since(began);
    if (step == 0) continue;
    const double outside = whole - inside.seconds();
    std::cout << format("step of {:.3f} s: {} operations, {:.1f} us outside of them\n", whole,
                        inside.operations(), 1e6 * outside);
    if (step == steps) std::cout << format("share_outside {:.6f}\n", outside / whole);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run({argv + 1, argv + argc});
} catch (const shoal::Error& error) {
  std::cerr << "interpreter_bench: " << error.what() << "\n";
  return static_cast<int>(error.exit_code());
}
