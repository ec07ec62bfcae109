#include <iostream>

#include <gtest/gtest.h>

#include "shoal/core/files.h"
#include "shoal/picture/candidates.h"
#include "shoal/picture/chart.h"
#include "shoal/picture/curve_chart.h"
#include "shoal/picture/neighbours.h"
#include "shoal/picture/page.h"
#include "shoal/picture/run_report.h"
#include "shoal/picture/short_form.h"
#include "shoal/plan/layout.h"

namespace shoal::picture {
namespace {

// shoal/picture/markup.h
TEST(HeaderExamples, Markup) {
  Markup markup;
  markup.open("p", {{"class", "hint"}}).text("a < b").close();
  EXPECT_EQ(std::move(markup).finish(), "<p class=\"hint\">a &lt; b</p>");
}

// shoal/picture/ink.h
TEST(HeaderExamples, Ink) {
  Markup markup;
  markup.leaf("rect", {{"class", class_of(Ink::kWeights)}});
  EXPECT_EQ(std::move(markup).finish(), "<rect class=\"weights\"/>");
}

// shoal/picture/chart.h
TEST(HeaderExamples, Chart) {
  Markup markup;
  const Scale scale = scale_of_bytes(80e9);
  begin_row(markup, "stage 0");
  bar(markup, {{Ink::kWeights, 3e9, "weights"}}, scale, /*limit=*/80e9);
  end_row(markup, "2.79 GiB");
  axis(markup, scale);
  EXPECT_FALSE(std::move(markup).finish().empty());
}

// shoal/picture/plan_facts.h
void plan_facts(const config::RunConfig& config, const config::ClusterConfig& cluster) {
  const PlanFacts facts = facts_of(config, plan::mesh_of(config.parallel, 1024), cluster);
  facts.fullest.memory.peak(), facts.fits(), facts.mfu();
}

// shoal/picture/step_lanes.h
void step_lanes(const plan::PlannedJob& job, const config::ClusterConfig& cluster) {
  StepRecorder recorder;
  const plan::StepTime time = plan::step_time(job.stages(), cluster, recorder.observer());
  const std::vector<Lane> lanes = recorder.lanes(time);
  lanes[0].blocks[0].ink;
}

// shoal/picture/candidates.h
TEST(HeaderExamples, Candidates) {
  Markup markup;
  std::vector<Candidate> candidates = {
      {.name = "tp 8 x pp 4", .seconds = 3.2, .memory = 61'000'000'000, .chosen = true}};
  draw_candidates(markup, candidates, /*capacity=*/80'000'000'000);
  EXPECT_FALSE(std::move(markup).finish().empty());
}

// shoal/picture/curve_chart.h
void curve_chart(Markup& markup,
                 const std::vector<CurvePoint>& losses,
                 const std::vector<CurvePoint>& val_losses) {
  draw_curve(markup, {.points = losses, .marks = val_losses, .last_step = 2000});
}

// shoal/picture/run_report.h
void run_report_of(const RunFacts& facts) {
  write_file_atomically("report.html", run_report(facts));
}

// shoal/picture/neighbours.h
void neighbours(const PlanFacts& facts) {
  const std::vector<Candidate> candidates = recompute_neighbours(facts);
}

// shoal/picture/short_form.h
void short_form_of(const PlanFacts& facts, bool is_utf8) {
  std::cout << short_form(facts, {.blocks = is_utf8});
}

// shoal/picture/page.h
void page_of(const config::RunConfig& config,
             const plan::Mesh& mesh,
             const config::ClusterConfig& cluster) {
  StepRecorder recorder;
  const PlanFacts facts = facts_of(config, mesh, cluster, recorder.observer());
  write_file_atomically("plan.html", page(facts, recorder, recompute_neighbours(facts)));
}

}  // namespace
}  // namespace shoal::picture
