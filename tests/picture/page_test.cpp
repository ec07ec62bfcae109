#include "shoal/picture/page.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "shoal/core/quantities.h"
#include "shoal/picture/neighbours.h"
#include "shoal/plan/program_text.h"

#include "tests/picture/elements.h"
#include "tests/picture/planned.h"
#include "tests/support/source_dir.h"

namespace shoal::picture {
namespace {

constexpr size_t kMaxPage = 500'000;

std::string page_of(const config::RunConfig& config,
                    const plan::Mesh& mesh,
                    const std::optional<config::ClusterConfig>& cluster) {
  StepRecorder recorder;
  const PlanFacts facts = facts_of(config, mesh, cluster, recorder.observer());
  return page(facts, recorder, recompute_neighbours(facts));
}

bool has(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

TEST(Page, IsWellFormedAndNamesThePeak) {
  for (const bool timed : {false, true}) {
    const auto [config, mesh] =
        tests::planned(12, {"parallel.pp=3", "parallel.tp=2", "train.micro_batch=2"});
    const auto cluster = timed ? std::optional(tests::slow_cluster()) : std::nullopt;
    const std::string text = page_of(config, mesh, cluster);
    const auto elements = tests::elements_of(text);
    EXPECT_EQ(elements.front().tag, "html");
    const auto [plan, program, memory] = plan::fullest_rank(plan::PlannedJob(config, mesh));
    EXPECT_TRUE(has(text, plan::describe(plan, program[memory.operation])));
    EXPECT_TRUE(has(text, format_bytes(memory.peak())));
    EXPECT_EQ(has(text, "<h2>The step</h2>"), timed);
    EXPECT_TRUE(tests::with_tag(elements, "script").empty());
    for (const char* foreign : {"href=", "src=", "url(", "@import", "//fonts"})
      EXPECT_FALSE(has(text, foreign)) << foreign;
  }
}

TEST(Page, EscapesHostileNames) {
  auto [config, mesh] = tests::planned(2, {});
  config.run.name = "</title><script>alert('1')</script>\x1b[31m&amp;\xff";
  config::ClusterConfig cluster = tests::slow_cluster();
  cluster.device.name = "\"><img onerror=x>";
  const std::string text = page_of(config, mesh, cluster);
  EXPECT_NO_THROW(tests::elements_of(text));
  EXPECT_FALSE(has(text, "<script"));
  EXPECT_FALSE(has(text, "<img"));
  EXPECT_FALSE(has(text, "\x1b"));
  EXPECT_TRUE(has(text, "&lt;script&gt;alert(&#39;1&#39;)"));
}

TEST(Page, SaysWhatDoesNotFit) {
  const auto [config, mesh] = tests::planned(2, {});
  config::ClusterConfig cluster = tests::slow_cluster();
  cluster.device.memory_gb = 1000;
  EXPECT_TRUE(has(page_of(config, mesh, cluster), "It fits"));
  cluster.device.memory_gb = 0.01;
  EXPECT_TRUE(has(page_of(config, mesh, cluster), "It does not fit"));
}

// Long programs on many ranks: each way of drawing a lane, and more stages than lanes.
TEST(Page, StaysSmall) {
  const config::ClusterConfig cluster =
      config::load_cluster(tests::source_dir() / "clusters" / "h100.yaml");
  const auto large = [&](int ranks, tests::Sets sets) {
    config::RunConfig config =
        config::load_or_throw({.file = tests::source_dir() / "configs" / "llama3_405b.yaml",
                               .sets = std::move(sets),
                               .job = config::JobSize{.ranks = ranks}});
    const auto began = Clock::now();
    const std::string text = page_of(config, plan::mesh_of(config.parallel, ranks), cluster);
    std::printf("%d ranks, %s: %zu bytes in %.2f s\n", ranks,
                plan::mesh_of(config.parallel, ranks).describe().c_str(), text.size(),
                seconds_since(began));
    EXPECT_NO_THROW(tests::elements_of(text));
    EXPECT_LT(text.size(), kMaxPage) << ranks;
  };
  large(16'384, {"parallel.tp=8", "parallel.pp=16"});
  large(16'384, {"parallel.tp=8", "parallel.pp=16", "train.batch=3072"});
  large(16'384, {"parallel.tp=8", "parallel.pp=16", "train.batch=16384", "train.recompute=full",
                 "parallel.sharding=hybrid_shard", "parallel.dp_replicate=4"});
  large(16'384, {"parallel.tp=8", "parallel.pp=64", "train.batch=2048"});
  large(8, {"parallel.tp=8", "train.batch=97"});
}

}  // namespace
}  // namespace shoal::picture
