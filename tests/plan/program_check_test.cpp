// The checker proves what is right, and finds what is wrong: programs of random layouts, every shape of pipeline, a job of 16,384
// ranks; and programs with an operation dropped, doubled, swapped or given to another group.

#include "shoal/plan/program_check.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program_text.h"

#include "tests/support/growth.h"

namespace shoal::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Sets = std::vector<std::string>;

struct Job {
  Sets sets;
  int ranks = 1;

  [[nodiscard]] config::RunConfig config() const {
    return config::load_or_throw({.sets = sets, .job = config::JobSize{.ranks = ranks}});
  }
};

std::string told(const std::vector<config::Problem>& problems) {
  std::string text;
  for (const config::Problem& problem : problems)
    text += format("{}: {}\n", problem.where, problem.what);
  return text;
}

// A layout that can be run, drawn from everything that makes another program.
Job random_job(std::mt19937_64& random) {
  const auto one_of = [&](const Sets& values) { return values[random() % values.size()]; };
  const auto between = [&](int first, int last) {
    return first + static_cast<int>(random() % static_cast<uint64_t>(last - first + 1));
  };
  for (;;) {
    const int pp = between(1, 5);
    const int tp = between(1, 3);
    const int replicas = between(1, 3);
    const int shards = between(1, 4);
    const std::string schedule = pp == 1 ? "1f1b" : one_of({"gpipe", "1f1b", "interleaved"});
    Job job{.sets = {"model.width=12",
                     "model.heads=3",
                     "model.context=7",
                     "model.vocab_size=29",
                     format("model.layers={}", between(1, 11)),
                     "model.tied=" + one_of({"true", "false"}),
                     "model.norm=" + one_of({"layer", "rms", "plain"}),
                     format("train.batch={}", between(1, 40)),
                     format("train.micro_batch={}", between(1, 4)),
                     "train.recompute=" + one_of({"none", "selective", "full"}),
                     "optimizer.kind=" + one_of({"adamw", "muon", "sgd"}),
                     "parallel.sharding=" + one_of({"no_shard", "optimizer", "shard_grad_op",
                                                    "full_shard", "hybrid_shard"}),
                     "parallel.grad_sync=" + one_of({"auto", "batch", "micro_batch"}),
                     "parallel.reshard_after_forward=" + one_of({"true", "false"}),
                     "parallel.units=" +
                         one_of({"by_block", "by_block_and_size", "by_block_group", "size_based"}),
                     "parallel.unit_blocks=2",
                     "parallel.unit_parameters=2500",
                     format("parallel.prefetch={}", between(0, 3)),
                     format("parallel.pp={}", pp),
                     format("parallel.tp={}", tp),
                     format("parallel.dp_replicate={}", replicas),
                     "parallel.schedule=" + schedule,
                     format("parallel.chunks={}", schedule == "interleaved" ? between(2, 3) : 1)},
            .ranks = pp * tp * replicas * shards};
    try {
      require_layout(job.config(), job.ranks);
      return job;
    } catch (const UsageError&) {  // not one that can be run
    }
  }
}

std::string words_of(const Job& job) {
  std::string text = format("{} ranks", job.ranks);
  for (const std::string& set : job.sets) text += " --set " + set;
  return text;
}

TEST(ProgramCheck, ProvesRandomLayouts) {
  std::mt19937_64 random(7);
  const char* const asked = std::getenv("SHOAL_CHECKED_LAYOUTS");
  const int layouts = asked != nullptr ? std::atoi(asked) : tests::is_nightly() ? 1000 : 300;
  for (int i = 0; i < layouts; ++i) {
    const Job job = random_job(random);
    const std::vector<config::Problem> problems = check_job(job.config(), job.ranks);
    ASSERT_THAT(problems, IsEmpty()) << words_of(job) << "\n" << told(problems);
  }
}

// 1 to 5 ranks more than there are micro-batches and fewer, with 1 to 3 chunks.
TEST(ProgramCheck, ProvesEveryShapeOfPipeline) {
  int shapes = 0;
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 13; ++micro_batches) {
      for (int chunks = 1; chunks <= 3; ++chunks) {
        for (const char* schedule : {"gpipe", "1f1b", "interleaved"}) {
          if ((std::string_view(schedule) == "interleaved") != (chunks > 1)) continue;
          const Job job{
              .sets = {"model.width=4", "model.heads=1", "model.context=3", "model.vocab_size=5",
                       format("model.layers={}", ranks * chunks),
                       format("train.batch={}", micro_batches), "train.micro_batch=1",
                       format("parallel.pp={}", ranks), format("parallel.chunks={}", chunks),
                       format("parallel.schedule={}", schedule)},
              .ranks = ranks};
          const std::vector<config::Problem> problems = check_job(job.config(), ranks);
          ASSERT_THAT(problems, IsEmpty()) << words_of(job) << "\n" << told(problems);
          ++shapes;
        }
      }
    }
  }
  std::printf("%d shapes of pipelines\n", shapes);
  EXPECT_GE(shapes, 400);
}

// Muon's rounds with a part left out, doubled, shifted, given to another rank or to another place.
TEST(ProgramCheck, FindsWrongRoundsOfMatrices) {
  const Job job{.sets = {"model.width=20", "model.heads=10", "model.kv_heads=5", "model.context=7",
                         "model.vocab_size=29", "model.layers=3", "train.batch=6",
                         "optimizer.kind=muon", "parallel.sharding=full_shard", "parallel.tp=3"},
                .ranks = 6};
  const config::RunConfig config = job.config();
  const Mesh mesh = mesh_of(config.parallel, job.ranks);
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < job.ranks; ++rank) plans.push_back(plan_of(config, mesh, rank));
  const std::vector<MatrixRound> right = plans.front().matrices;
  const auto problems_of = [&](const std::vector<MatrixRound>& rounds) {
    std::vector<config::Problem> problems;
    for (RankPlan& plan : plans) {
      plan.matrices = rounds;
      for (const config::Problem& problem : check_matrices(plan)) problems.push_back(problem);
    }
    return problems;
  };
  ASSERT_THAT(problems_of(right), IsEmpty());
  std::mt19937_64 random(11);
  const std::vector<std::pair<const char*, std::function<void(std::vector<MatrixPart>&, size_t)>>>
      mutations = {
          {"dropped",
           [](auto& parts, size_t i) { parts.erase(parts.begin() + static_cast<ptrdiff_t>(i)); }},
          {"doubled", [](auto& parts, size_t i) { parts.push_back(parts[i]); }},
          {"shifted", [](auto& parts, size_t i) { parts[i].first += 1; }},
          {"shorter", [](auto& parts, size_t i) { parts[i].count -= 1; }},
          {"of another rank",
           [](auto& parts, size_t i) { parts[i].rank = (parts[i].rank + 1) % 6; }},
          {"at another place",
           [](auto& parts, size_t i) { parts[i].place = (parts[i].place + 1) % 3; }}};
  int found = 0;
  for (const auto& [name, mutate] : mutations) {
    for (int i = 0; i < 20; ++i) {
      std::vector<MatrixRound> wrong = right;
      MatrixRound& round = wrong[random() % wrong.size()];
      WholeMatrix& matrix = round[random() % round.size()];
      mutate(matrix.parts, random() % matrix.parts.size());
      EXPECT_THAT(problems_of(wrong), Not(IsEmpty())) << name << " in " << matrix.name;
      ++found;
    }
  }
  std::vector<MatrixRound> wrong = right;
  wrong.pop_back();
  EXPECT_THAT(told(problems_of(wrong)), HasSubstr("is in no round"));
  wrong = right;
  wrong.push_back(right.front());
  EXPECT_THAT(told(problems_of(wrong)), HasSubstr("is in more than one round"));
  std::printf("%d wrong rounds\n", found + 2);
}

TEST(ProgramCheck, ProvesSixteenThousandRanks) {
  const Job job{.sets = {"model.layers=126",
                         "model.width=16384",
                         "model.heads=128",
                         "model.kv_heads=8",
                         "model.hidden=53248",
                         "model.context=8192",
                         "model.vocab_size=128256",
                         "model.positions=rotary",
                         "model.norm=rms",
                         "model.activation=swiglu",
                         "model.bias=none",
                         "model.tied=false",
                         "train.batch=65536",
                         "train.micro_batch=1",
                         "train.precision=bf16",
                         "parallel.tp=8",
                         "parallel.pp=16",
                         "parallel.chunks=8",
                         "parallel.schedule=interleaved",
                         "parallel.sharding=optimizer"},
                .ranks = 16'384};
  const auto began = Clock::now();
  const std::vector<config::Problem> problems = check_job(job.config(), job.ranks);
  std::printf("16,384 ranks in %.1f s\n", seconds_since(began));
  EXPECT_THAT(problems, IsEmpty()) << told(problems);
}

// ---- what is wrong ----

// A rank's program, changed in one place.
struct Mutation {
  std::string what;
  Program program;
  bool is_swap = false;
};

Mutation mutated(const RankPlan& plan, const Program& program, std::mt19937_64& random) {
  const auto at = static_cast<ptrdiff_t>(random() % program.size());
  const std::string name = describe(plan, program[static_cast<size_t>(at)]);
  Program changed = program;
  switch (random() % 4) {
    case 0:
      changed.erase(changed.begin() + at);
      return {format("line {} dropped: {}", at, name), std::move(changed)};
    case 1:
      changed.insert(changed.begin() + at, program[static_cast<size_t>(at)]);
      return {format("line {} doubled: {}", at, name), std::move(changed)};
    case 2: {
      const auto other = static_cast<ptrdiff_t>(random() % program.size());
      std::swap(changed[static_cast<size_t>(at)], changed[static_cast<size_t>(other)]);
      return {format("lines {} and {} swapped: {}", at, other, name), std::move(changed), true};
    }
    default: {
      Operation& given = changed[static_cast<size_t>(at)];
      (is_transfer(given.kind) ? given.peer : given.index) += random() % 2 == 0 ? 1 : -1;
      return {format("line {} given to another group: {}", at, name), std::move(changed)};
    }
  }
}

// The problems of a job in which one rank's program is another.
std::vector<config::Problem> problems_with(const std::vector<RankPlan>& plans,
                                           std::vector<Program> programs,
                                           size_t rank,
                                           const Program& changed) {
  programs[rank] = changed;
  std::vector<config::Problem> problems = check_rank({&plans[rank], &programs[rank]});
  if (!problems.empty()) return problems;
  const Mesh& mesh = plans[rank].mesh;
  for (const int peer : mesh.peers(static_cast<int>(rank), kDataAxes.with(Axis::kTp))) {
    const auto other = static_cast<size_t>(peer);
    problems = check_same_calls({&plans[other], &programs[other]}, {&plans[rank], &programs[rank]});
    if (!problems.empty()) return problems;
  }
  std::vector<CheckedRank> pipeline;
  for (const int peer : mesh.peers(static_cast<int>(rank), Axis::kPp))
    pipeline.push_back({&plans[static_cast<size_t>(peer)], &programs[static_cast<size_t>(peer)]});
  return check_transfers(pipeline);
}

// What is not found has the same operations in another order, and every rule of lifetime, completeness and meeting holds for it:
// it computes the same.
TEST(ProgramCheck, FindsWhatIsWrong) {
  std::mt19937_64 random(11);
  int found = 0;
  int same = 0;
  std::map<std::string, int> kinds;
  while (found + same < 300) {
    const Job job = random_job(random);
    const config::RunConfig config = job.config();
    const Mesh mesh = mesh_of(config.parallel, job.ranks);
    std::vector<RankPlan> plans;
    std::vector<Program> programs;
    for (int rank = 0; rank < job.ranks; ++rank) {
      plans.push_back(plan_of(config, mesh, rank));
      programs.push_back(training_program(plans.back()));
    }
    const auto rank = static_cast<size_t>(random() % static_cast<uint64_t>(job.ranks));
    const Mutation mutation = mutated(plans[rank], programs[rank], random);
    if (mutation.program == programs[rank]) continue;
    const std::vector<config::Problem> problems =
        problems_with(plans, programs, rank, mutation.program);
    if (problems.empty()) {
      EXPECT_TRUE(mutation.is_swap) << mutation.what << "\n" << words_of(job);
      ++same;
      continue;
    }
    ++found;
    EXPECT_FALSE(problems.front().what.empty());
    ++kinds[problems.front().what.substr(problems.front().what.find(": ") + 2, 40)];
  }
  std::printf("%d found, %d compute the same\n", found, same);
  for (const auto& [kind, count] : kinds) std::printf("  %3d  %s\n", count, kind.c_str());
  EXPECT_GT(found, 250);
}

TEST(ProgramCheck, SaysWhoWaitsForWhom) {
  const Job job{.sets = {"model.width=4", "model.heads=1", "model.context=3", "model.vocab_size=5",
                         "model.layers=2", "train.batch=2", "train.micro_batch=1", "parallel.pp=2"},
                .ranks = 2};
  const config::RunConfig config = job.config();
  const Mesh mesh = mesh_of(config.parallel, 2);
  const std::vector<RankPlan> plans = {plan_of(config, mesh, 0), plan_of(config, mesh, 1)};
  std::vector<Program> programs = {training_program(plans[0]), training_program(plans[1])};
  std::erase_if(programs[0], [](const Operation& each) {
    return each.kind == OpKind::kSend && each.micro_batch == 1;
  });
  const std::vector<CheckedRank> pipeline = {{&plans[0], &programs[0]}, {&plans[1], &programs[1]}};
  EXPECT_THAT(
      told(check_transfers(pipeline)),
      HasSubstr(
          "rank 0, line 14: await receive gradients of micro-batch 1 waits for ever: it first has "
          "to receive gradients of micro-batch 1 for stage 0 with rank 1, which first has "
          "to receive activations of micro-batch 1 for stage 1"));
}

}  // namespace
}  // namespace shoal::plan
