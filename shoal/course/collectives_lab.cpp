#include "shoal/course/collectives.h"
#include "shoal/course/lab.h"
#include "shoal/plan/volume.h"

namespace shoal::course {
namespace {

// What the four ranks of the lab have.
const Matrix& four_ranks() {
  static const Matrix ranks = {{1, 2, 3, 4}, {10, 20, 30, 40}, {7, 5, 3, 1}, {100, 0, 100, 0}};
  return ranks;
}

// The MiB that a rank sends in an all-reduce of so many.
double sent_mib(double mib, int ranks) {
  constexpr double kMib = 1 << 20;
  return plan::sent_bytes({.exchange = plan::Exchange::kAllReduce,
                           .ranks = ranks,
                           .calls = 1,
                           .bytes = static_cast<int64_t>(mib * kMib)}) /
         kMib;
}

}  // namespace

std::vector<Question> collectives_questions() {
  const Row total = sum_over(four_ranks());
  const int size = static_cast<int>(four_ranks().size());
  const int steps = 2 * (size - 1);
  Row gathered;
  for (const Row& rank : four_ranks()) gathered.push_back(rank.front());
  return {
      list("all_gather",
           "Each of the four ranks contributes the first of its numbers. What does every rank have "
           "after the all-gather?",
           "An all-gather adds nothing: the pieces stand in the order of the ranks.", gathered),
      list("all_reduce", "What does every rank have after an all-reduce (sum) of the four vectors?",
           "Add up each column of the table.", total),
      list("reduce_scatter",
           "After a reduce-scatter (sum) each rank has one number. Which are they, rank 0 first?",
           "Rank r keeps element r of the sum, and nothing else.", total),
      matrix("ring_step_1",
             "The vectors of ranks 0, 1, 2 and 3 after the first step of the ring: four rows.",
             "In the first step rank r sends element r - 1, and its right neighbour adds it: one "
             "number of each row changes.",
             ring_all_reduce(four_ranks(), 1)),
      list("ring_half",
           "The vector of rank 2 after the first half of the ring, which is three steps.",
           "One element is complete, the others are partial sums or untouched. Write down all four "
           "rows after each step.",
           ring_all_reduce(four_ranks(), size - 1)[2]),
      whole("ring_steps", "How many steps does the whole ring all-reduce take on four ranks?",
            "Both halves take one step less than there are ranks.", steps),
      decimal("sent_mib",
              "Gradients of 64 MiB are all-reduced over 8 ranks in a ring. How many MiB does each "
              "rank send?",
              "Each step sends an eighth of the vector, and there are 2 (8 - 1) steps.",
              sent_mib(64, 8), 0.01),
      decimal("sent_mib_many",
              "The same over 1024 ranks. Which number does this approach as ranks are added?",
              "2 (n - 1) / n of the vector: almost twice its size, however many ranks there are.",
              sent_mib(64, 1024), 0.01),
      choice(
          "zero_collective",
          "The operation `reduce` in the program of `sharding: full_shard` adds up the gradients "
          "of a group of units. Which collective is it?",
          "Each rank updates only its own shard of the weights: it needs only that part of the "
          "sum.",
          {"all_reduce", "reduce_scatter", "all_gather"}, "reduce_scatter"),
  };
}

}  // namespace shoal::course
