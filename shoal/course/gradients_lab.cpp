#include <numeric>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/course/lab.h"
#include "shoal/course/run_files.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/rank_plan.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;

// Gradients of one weight, of each sequence, on two ranks.
Row first_rank() { return {4, 8, 6}; }

Row second_rank() { return {1, 3}; }

// Losses and targets of a step with masked tokens.
struct Masked {
  double loss_sum;
  double targets;
};
constexpr Masked kFirstMasked = {.loss_sum = 30, .targets = 12};
constexpr Masked kSecondMasked = {.loss_sum = 18, .targets = 4};

constexpr double kSameLoss = 1e-4;  // relative: two layouts in fp32 over thirty steps

double sum_of(const Row& row) { return std::accumulate(row.begin(), row.end(), 0.0); }

double mean_of(const Row& row) { return sum_of(row) / static_cast<double>(row.size()); }

config::RunConfig run_config(int ranks) {
  const config::Loaded loaded = config::load_text(
      content_of(2, "run.yaml"),
      {.file = "run.yaml", .sets = {"model.vocab_size=257"}, .job = config::JobSize{ranks}});
  SHOAL_CHECK(loaded.found.problems.empty(), "{}",
              config::report("run.yaml", loaded.found.problems));
  return loaded.config;
}

Row rows_of_ranks(int ranks) {
  const config::RunConfig config = run_config(ranks);
  const plan::Mesh mesh = plan::mesh_of(config.parallel, ranks);
  Row rows;
  for (int rank = 0; rank < ranks; ++rank)
    rows.push_back(static_cast<double>(plan::sequences_of(config, mesh, rank)));
  return rows;
}

std::string first_operation() {
  const config::RunConfig config = run_config(2);
  const plan::RankPlan plan = plan::plan_of(config, plan::mesh_of(config.parallel, 2), 0);
  return plan::describe(plan, plan::training_program(plan).front());
}

std::string losses_differ(const fs::path& directory) {
  const auto one = read_losses(directory / "runs/one");
  const auto three = read_losses(directory / "runs/three");
  if (one.size() != three.size() || one.size() < 10)
    return format("the run of one rank has {} steps, that of three {}: let both end", one.size(),
                  three.size());
  if (layout_of(directory / "runs/one") == layout_of(directory / "runs/three"))
    return "both runs had the same layout: start one of them on three ranks";
  return first_difference(one, three, kSameLoss);
}

}  // namespace

std::vector<Question> gradients_questions() {
  const double all = static_cast<double>(first_rank().size() + second_rank().size());
  return {
      list(
          "rows",
          "A batch of 5 sequences (train.batch of run.yaml) is divided over 3 ranks. How many does "
          "each rank get, rank 0 first?",
          "Shares differ by one at most, and together they are 5.", rows_of_ranks(3)),
      decimal("one_rank",
              "The gradient of the mean loss over all five sequences, as one rank computes it.",
              "Add up all five gradients and divide by 5.",
              (sum_of(first_rank()) + sum_of(second_rank())) / all, 0.001),
      decimal("mean_of_means",
              "What comes out when each rank takes the mean of its own, and the two means are "
              "averaged?",
              "(mean of 4, 8, 6 + mean of 1, 3) / 2.",
              (mean_of(first_rank()) + mean_of(second_rank())) / 2, 0.001),
      list("shares",
           "Each rank divides its sum by the sequences of all ranks instead. What do rank 0 and "
           "rank 1 put into the all-reduce, so that its sum is right?",
           "18 / 5 and 4 / 5.", {sum_of(first_rank()) / all, sum_of(second_rank()) / all}),
      decimal("masked_loss",
              "The loss of the step with masked tokens: the mean over the targets of both ranks.",
              "The sums of the losses, divided by the sum of the targets.",
              (kFirstMasked.loss_sum + kSecondMasked.loss_sum) /
                  (kFirstMasked.targets + kSecondMasked.targets),
              0.001),
      decimal("masked_wrong", "The mean of the two ranks' own mean losses, which is wrong.",
              "30 / 12 and 18 / 4, averaged.",
              (kFirstMasked.loss_sum / kFirstMasked.targets +
               kSecondMasked.loss_sum / kSecondMasked.targets) /
                  2,
              0.001),
      word(
          "first_operation",
          "Which operation of `shoal plan program` finds out what to divide by? Write its two "
          "words.",
          "It stands before the first forward pass, because a loss is divided when it is computed.",
          first_operation()),
      deed("same_losses",
           "Train run.yaml on one rank as runs/one and on three ranks as runs/three: the losses of "
           "all steps must agree to 1 in 10,000.",
           losses_differ),
  };
}

}  // namespace shoal::course
