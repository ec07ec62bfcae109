#include "shoal/picture/page.h"

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/picture/chart.h"
#include "shoal/picture/html_page.h"
#include "shoal/picture/memory_chart.h"
#include "shoal/picture/rank_grid.h"
#include "shoal/picture/step_chart.h"
#include "shoal/picture/tables.h"
#include "shoal/plan/counts.h"

namespace shoal::picture {
namespace {

void draw_tiles(Markup& markup, const PlanFacts& facts) {
  const int64_t total = facts.fullest_stage().total();
  markup.open("div", {{"class", "tiles"}});
  if (const auto capacity = facts.capacity()) {
    const double share = static_cast<double>(total) / static_cast<double>(*capacity);
    tile(markup, facts.fits() ? "It fits" : "It does not fit",
         format("{} of {} on the fullest rank, {}", format_bytes(total), format_bytes(*capacity),
                format_share(share)),
         facts.fits() ? "fine" : "alarm");
    tile(markup, format_seconds(facts.time->seconds), "a step");
    tile(markup, format_count(static_cast<int64_t>(facts.tokens_per_second())),
         "tokens per second");
    tile(markup, format("{:.1f} %", 100 * facts.mfu()), "MFU");
  } else {
    tile(markup, format_bytes(total),
         "on the fullest rank, with what a device holds beside tensors");
    tile(markup, format_bytes(facts.fullest.memory.peak()), "of it tensors");
  }
  markup.close();
}

std::string headline(const PlanFacts& facts) {
  const int ranks = facts.mesh().num_ranks();
  return format("{} on {} {}", facts.config().run.name, ranks,
                facts.cluster ? "\u00d7 " + facts.cluster->device.name
                              : std::string(ranks == 1 ? "rank" : "ranks"));
}

void draw_head(Markup& markup, const PlanFacts& facts) {
  const config::RunConfig& config = facts.config();
  markup.leaf("h1", {}, headline(facts));
  markup.leaf("p", {{"class", "hint"}},
              format("{} parameters, {} layers. {}. A step has {} sequences of {} tokens.",
                     format_count(plan::counts_of(config.model).parameters()), config.model.layers,
                     facts.mesh().describe(), config.train.batch, config.model.context));
  draw_tiles(markup, facts);
  if (!facts.time) {
    markup.leaf("p", {{"class", "hint"}},
                "No cluster was named, so nothing is known of time: --cluster FILE adds it.");
    return;
  }
  markup.open("p")
      .leaf("b", {}, "What the busiest stage spends the step on: ")
      .text(plan::shares_in_words(facts.time->busiest()) + ".")
      .close();
}

void draw_body(Markup& markup,
               const PlanFacts& facts,
               const StepRecorder& recorder,
               const std::vector<Candidate>& candidates) {
  draw_head(markup, facts);
  begin_section(markup, "Memory of each stage",
                "The fullest rank of each pipeline stage, at its peak.");
  draw_stage_memory(markup, facts);
  markup.close();
  begin_section(markup, "Memory during the step", "");
  draw_memory_timeline(markup, facts);
  markup.close();
  if (facts.time) {
    begin_section(
        markup, "The step",
        "A lane for each stage, time from left to right. Grey is computation, colours are "
        "what it waits for, drawn at the end of the pass that waits, and gaps are "
        "waiting for other stages. The thin rows below a lane run beside it: where they "
        "are pale they are hidden, where they are full the stage waits for them.");
    draw_step(markup, facts, recorder.lanes(*facts.time));
    markup.close();
  }
  begin_section(markup, "Where the ranks are", "");
  const int per_node = facts.cluster.value_or(config::ClusterConfig{}).devices_per_node;
  draw_ranks(markup, facts.mesh(), plan::Nodes::uniform(facts.mesh().num_ranks(), per_node),
             facts.fullest.plan.rank);
  if (!facts.cluster)
    markup.leaf("p", {{"class", "hint"}}, format("Nodes of {} are assumed.", per_node));
  markup.close();
  if (!candidates.empty()) {
    begin_section(markup, "Beside it",
                  "The same layout with other choices; \u25b8 marks this plan.");
    draw_candidates(markup, candidates, facts.capacity());
    markup.close();
  }
  begin_section(markup, "Figures", "");
  draw_tables(markup, facts);
  markup.close();
}

}  // namespace

std::string page(const PlanFacts& facts,
                 const StepRecorder& recorder,
                 const std::vector<Candidate>& candidates) {
  return html_page("Plan of " + headline(facts),
                   [&](Markup& markup) { draw_body(markup, facts, recorder, candidates); });
}

}  // namespace shoal::picture
