// Programs of whole layouts, as tests/golden/programs has them. The first line of each file is the command that prints it:
//
//   for f in tests/golden/programs/*.txt; do head -1 $f > new; sh -c "$(sed -n '1s/^# //p' $f)" >> new; mv new $f; done

#include "shoal/plan/program.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/program_text.h"

#include "tests/support/source_dir.h"

namespace shoal::plan {
namespace {

using Sets = std::vector<std::string>;
namespace fs = std::filesystem;

struct Asked {
  std::string file;
  Sets sets;
  int ranks = 1;
  int rank = 0;
};

Asked asked_by(const std::string& command) {
  std::istringstream words(command);
  Asked asked;
  for (std::string word; words >> word;) {
    if (word == "--set") words >> asked.sets.emplace_back();
    if (word == "--ranks") words >> asked.ranks;
    if (word == "--rank") words >> asked.rank;
    if (word.ends_with(".yaml")) asked.file = word;
  }
  return asked;
}

RankPlan plan_for(const Asked& asked) {
  const config::RunConfig config =
      config::load_or_throw({.file = tests::source_dir() / asked.file,
                             .sets = asked.sets,
                             .job = config::JobSize{.ranks = asked.ranks}});
  return plan_of(config, mesh_of(config.parallel, asked.ranks), asked.rank);
}

TEST(GoldenPrograms, AreWhatIsMade) {
  int seen = 0;
  for (const auto& entry :
       fs::directory_iterator(tests::source_dir() / "tests" / "golden" / "programs")) {
    SCOPED_TRACE(entry.path().filename());
    const std::string text = read_file(entry.path(), 1 << 20);
    const size_t end = text.find('\n') + 1;
    const RankPlan plan = plan_for(asked_by(text.substr(0, end)));
    EXPECT_EQ(to_text(plan, training_program(plan)), text.substr(end));
    ++seen;
  }
  EXPECT_EQ(seen, 13);
}

TEST(ForwardProgram, HasNoBackwardAndReleasesWhatItGathers) {
  const RankPlan plan =
      plan_for({.file = "configs/debug_cpu.yaml",
                .sets = {"model.vocab_size=101", "parallel.sharding=full_shard",
                         "parallel.reshard_after_forward=false", "parallel.pp=2", "train.batch=4"},
                .ranks = 4});
  const Program program = forward_program(plan, 3);
  std::map<OpKind, int> counts;
  for (const Operation& operation : program) ++counts[operation.kind];
  EXPECT_EQ(counts[OpKind::kForward], 3 * 2);
  EXPECT_EQ(counts[OpKind::kSend], 3);
  EXPECT_EQ(counts[OpKind::kGather], 3 * 2);
  EXPECT_EQ(counts[OpKind::kAwaitGather], 3 * 2);
  EXPECT_EQ(counts[OpKind::kRelease], 3 * 2);
  EXPECT_EQ(counts.size(), 6U) << "with the awaits of sends, and nothing else";
}

// Llama 3 405B as its makers ran it, up to the sharding of the optimizer alone, with 512 micro-batches.
const Asked kLlama405b = {
    .file = "configs/llama3_8b.yaml",
    .sets = {"model.layers=126", "model.width=16384", "model.heads=128", "model.hidden=53248",
             "model.vocab_size=128256", "train.batch=65536", "train.micro_batch=1", "parallel.tp=8",
             "parallel.pp=16", "parallel.chunks=8", "parallel.schedule=interleaved",
             "parallel.sharding=optimizer"},
    .ranks = 16'384,
    .rank = 7 * 1024 + 13};

TEST(Program, OfOneRankOfSixteenThousandIsCompiledAtOnce) {
  double best = 1e9;
  size_t operations = 0;
  for (int i = 0; i < 5; ++i) {
    const auto began = Clock::now();
    const RankPlan plan = plan_for(kLlama405b);
    const Program program = training_program(plan);
    best = std::min(best, seconds_since(began));
    operations = program.size();
    ASSERT_EQ(plan.rows.size(), 512U);
  }
  std::printf("%zu operations in %.1f ms\n", operations, best * 1e3);
  EXPECT_GT(operations, 16U * 512);
}

}  // namespace
}  // namespace shoal::plan
