#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/course/lab.h"
#include "shoal/plan/counts.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/memory.h"

namespace shoal::course {
namespace {

constexpr int kZeroRanks = 64;
constexpr double kZeroParameters = 7.5e9;  // the example of the ZeRO paper
constexpr double kGigabyte = 1e9;

config::RunConfig zero_config(const std::string& file, const std::string& sharding) {
  const config::Loaded loaded =
      config::load_text(content_of(3, file), {.file = file,
                                              .sets = {"parallel.sharding=" + sharding},
                                              .job = config::JobSize{kZeroRanks}});
  SHOAL_CHECK(loaded.found.problems.empty(), "{}", config::report(file, loaded.found.problems));
  return loaded.config;
}

// GB of weights, gradients and optimizer that rank 0 keeps between steps.
double state_gb(const std::string& sharding) {
  const config::RunConfig config = zero_config("gpt7b.yaml", sharding);
  const plan::Memory memory =
      plan::memory_of_step(config, plan::mesh_of(config.parallel, kZeroRanks), 0);
  return static_cast<double>(memory.state()) / kGigabyte;
}

// The fewest ranks on which the bytes of a stage fit a device.
double fewest_ranks(double plan::ZeroBytes::*stage, double device_bytes) {
  int ranks = 1;
  while (plan::zero_bytes(kZeroParameters, ranks).*stage > device_bytes) ++ranks;
  return ranks;
}

Question paper(const std::string& key,
               const std::string& stage,
               const std::string& hint,
               double bytes) {
  return decimal(key,
                 format("GB per rank with {}, for 7.5 billion parameters on 64 ranks, by the "
                        "formula.",
                        stage),
                 hint, bytes / kGigabyte, 0.02);
}

}  // namespace

std::vector<Question> zero_questions() {
  const plan::ZeroBytes zero = plan::zero_bytes(kZeroParameters, kZeroRanks);
  const config::RunConfig small = zero_config("small.yaml", "full_shard");
  const config::RunConfig large = zero_config("gpt7b.yaml", "full_shard");
  return {
      whole("parameters_small",
            "How many parameters does the model of small.yaml have? Use the formula first, then "
            "`shoal plan counts ... --json`.",
            "P = N (12 D^2 + 13 D) + V D + T D + 2 D. The head shares the matrix of the embedding.",
            plan::counts_of(small.model).parameters()),
      paper("no_shard_gb", "no sharding", "16 bytes for each parameter on every rank.",
            zero.no_shard),
      paper("zero1_gb", "ZeRO-1 (optimizer)", "4 P + 12 P / 64 bytes.", zero.optimizer),
      paper("zero2_gb", "ZeRO-2 (shard_grad_op)", "2 P + 14 P / 64 bytes.", zero.shard_grad_op),
      paper("zero3_gb", "ZeRO-3 (full_shard)", "16 P / 64 bytes.", zero.full_shard),
      list("fewest_ranks",
           "The fewest ranks on which these bytes fit a device of 40 GB, with ZeRO-1, ZeRO-2 and "
           "ZeRO-3.",
           "Solve the formula for the number of ranks, and round up: with ZeRO-1 30 + 90 / n has "
           "to be at most 40.",
           {fewest_ranks(&plan::ZeroBytes::optimizer, 40 * kGigabyte),
            fewest_ranks(&plan::ZeroBytes::shard_grad_op, 40 * kGigabyte),
            fewest_ranks(&plan::ZeroBytes::full_shard, 40 * kGigabyte)}),
      whole("bytes_per_parameter",
            "How many bytes does shoal keep for a parameter in bf16 (state.bytes_per_parameter)?",
            "shoal adds up gradients in fp32, and the paper in fp16.",
            plan::state_bytes(large).total()),
      decimal("state_optimizer_gb",
              "Weights, gradients, masters and optimizer of gpt7b.yaml on rank 0 of 64, with "
              "`sharding: optimizer`, in GB (10^9 bytes).",
              "Add up four lines of `shoal plan ... --json` below `memory`; --json has bytes.",
              state_gb("optimizer"), 0.01),
      decimal("state_full_shard_gb", "The same with `sharding: full_shard`.",
              "Add up the same four lines. Every one of them is a 64th of the whole.",
              state_gb("full_shard"), 0.01),
      choice("largest",
             "With full_shard the state is small. What takes most of the peak then: `activations`, "
             "`whole_weights` or `whole_gradients`?",
             "Compare the lines behind the state in the output of `shoal plan`.",
             {"activations", "whole_weights", "whole_gradients"},
             [&large] {
               const plan::Memory memory =
                   plan::memory_of_step(large, plan::mesh_of(large.parallel, kZeroRanks), 0);
               if (memory.activations >= memory.whole_weights &&
                   memory.activations >= memory.whole_gradients)
                 return "activations";
               return memory.whole_weights >= memory.whole_gradients ? "whole_weights"
                                                                     : "whole_gradients";
             }()),
  };
}

}  // namespace shoal::course
