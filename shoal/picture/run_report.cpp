#include "shoal/picture/run_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "shoal/config/print.h"
#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/metrics/shown.h"
#include "shoal/picture/chart.h"
#include "shoal/picture/curve_chart.h"
#include "shoal/picture/html_page.h"
#include "shoal/picture/traced_step.h"
#include "shoal/plan/counts.h"

namespace shoal::picture {
namespace {

using metrics::Show;
using metrics::StepRecord;

constexpr size_t kMostSamples = 3;
constexpr size_t kMostRestarts = 100;

// Returns what a function gives of those records for which it gives anything.
std::vector<CurvePoint> points_of(
    const RunFacts& facts,
    const std::function<std::optional<double>(const StepRecord&)>& value_of) {
  std::vector<CurvePoint> points;
  for (const StepRecord& record : facts.records)
    if (const auto value = value_of(record)) points.push_back({record.step, *value});
  return points;
}

std::vector<const metrics::TextRecord*> texts_of(const RunFacts& facts, const char* tag) {
  std::vector<const metrics::TextRecord*> found;
  for (const metrics::TextRecord& text : facts.texts)
    if (text.tag == tag) found.push_back(&text);
  return found;
}

// Rows may hold anything that a file can.
double finite_or_zero(double value) { return std::isfinite(value) ? value : 0; }

double median_step_seconds(const RunFacts& facts) {
  std::vector<double> seconds;
  for (const StepRecord& record : facts.records) seconds.push_back(finite_or_zero(record.dt));
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// Restarts, and changes of the ranks without one.
std::vector<const metrics::TextRecord*> turns_of(const RunFacts& facts) {
  std::vector<const metrics::TextRecord*> turns = texts_of(facts, "restart");
  for (const metrics::TextRecord* round : texts_of(facts, "round")) turns.push_back(round);
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto* a, const auto* b) { return a->step < b->step; });
  return turns;
}

// A chart over all steps; restarts are dashed lines in each.
Curve curve_of(const RunFacts& facts, std::vector<CurvePoint> points) {
  Curve curve{.points = std::move(points), .last_step = facts.records.back().step};
  for (const metrics::TextRecord* turn : turns_of(facts)) curve.uprights.push_back(turn->step);
  return curve;
}

void draw_head(Markup& markup, const RunFacts& facts) {
  const StepRecord& last = facts.records.back();
  const int64_t total = facts.config.train.steps;
  markup.leaf("h1", {}, facts.name);
  markup.leaf("p", {{"class", "hint"}},
              format("{} parameters, {} layers{}. A step has {} sequences of {} tokens.",
                     format_count(plan::counts_of(facts.config.model).parameters()),
                     facts.config.model.layers, facts.layout.empty() ? "" : "; " + facts.layout,
                     facts.config.train.batch, facts.config.model.context));
  markup.open("div", {{"class", "tiles"}});
  tile(markup, format("{} of {}", last.step, total), "steps", last.step >= total ? "fine" : "");
  tile(markup, shown(last.loss, Show::kLoss), "loss of the last step");
  const auto validated = points_of(facts, [](const StepRecord& record) -> std::optional<double> {
    if (!record.val_loss || !std::isfinite(*record.val_loss)) return std::nullopt;
    return record.val_loss;
  });
  if (!validated.empty()) {
    const auto best = std::min_element(
        validated.begin(), validated.end(),
        [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; });
    tile(markup, shown(best->value, Show::kLoss),
         format("lowest validation loss, at step {}", best->step));
  }
  tile(markup, shown(static_cast<double>(last.tokens), Show::kRate), "tokens");
  double seconds = 0;
  for (const StepRecord& record : facts.records) seconds += finite_or_zero(record.dt);
  tile(markup, shown(seconds, Show::kTime), "in steps");
  if (const size_t restarts = texts_of(facts, "restart").size(); restarts > 0)
    tile(markup, std::to_string(restarts), "restarts");
  if (const size_t rounds = texts_of(facts, "round").size(); rounds > 0)
    tile(markup, std::to_string(rounds), "changes of ranks");
  if (last.skipped_steps > 0)
    tile(markup, std::to_string(last.skipped_steps), "steps skipped", "alarm");
  markup.close();
}

void draw_loss(Markup& markup, const RunFacts& facts) {
  const auto validated = points_of(facts, [](const StepRecord& record) { return record.val_loss; });
  begin_section(markup, "Loss", "Mean cross-entropy per token, in nats.");
  std::vector<LegendEntry> entries = {{std::string(class_of(Ink::kBackward)), "training"}};
  if (!validated.empty()) entries.push_back({"mark", "validation"});
  if (!turns_of(facts).empty())
    entries.push_back(
        {"peak", texts_of(facts, "round").empty() ? "restart" : "restart, or change of ranks"});
  legend(markup, entries);
  Curve curve =
      curve_of(facts, points_of(facts, [](const StepRecord& record) -> std::optional<double> {
                 return record.loss;
               }));
  curve.marks = validated;
  curve.unit_name = "nats";
  draw_curve(markup, curve);
  markup.close();
}

void draw_speed(Markup& markup, const RunFacts& facts) {
  begin_section(markup, "Speed", "Tokens per second of all ranks together.");
  Curve curve =
      curve_of(facts, points_of(facts, [](const StepRecord& record) -> std::optional<double> {
                 return record.tokens_per_second;
               }));
  curve.from_zero = true;
  curve.ink = Ink::kProducts;
  curve.unit_name = "tokens/s";
  draw_curve(markup, curve);
  markup.close();
}

void draw_memory(Markup& markup, const RunFacts& facts) {
  auto bytes = points_of(facts, [](const StepRecord& record) -> std::optional<double> {
    if (!record.memory_bytes) return std::nullopt;
    return static_cast<double>(*record.memory_bytes);
  });
  if (bytes.empty()) return;
  begin_section(markup, "Memory", "Peak of the fullest rank.");
  const Scale scale = scale_of_bytes(bytes.back().value);
  for (CurvePoint& point : bytes) point.value /= scale.unit;
  Curve curve = curve_of(facts, bytes);
  curve.from_zero = true;
  curve.ink = Ink::kActivations;
  curve.unit_name = scale.unit_name;
  draw_curve(markup, curve);
  markup.close();
}

void draw_time(Markup& markup, const RunFacts& facts) {
  double forward = 0;
  double backward = 0;
  double all = 0;
  for (const StepRecord& record : facts.records) {
    forward += finite_or_zero(record.dtf.value_or(0));
    backward += finite_or_zero(record.dtb.value_or(0));
    all += finite_or_zero(record.dt);
  }
  if (forward + backward == 0 || all == 0) return;
  const double rest = std::max(0.0, all - forward - backward);
  begin_section(markup, "Where the time of steps went", "Of rank 0, over the whole run.");
  const Scale scale = scale_of_seconds(all);
  const auto row = [&](const char* name, Ink ink, double seconds) {
    begin_row(markup, name);
    bar(markup, {{ink, seconds, shown(seconds, Show::kTime)}}, scale);
    end_row(markup, format("{}, {}", shown(seconds, Show::kTime), format_share(seconds / all)));
  };
  row("forward", Ink::kForward, forward);
  row("backward", Ink::kBackward, backward);
  row("the rest", Ink::kUpdate, rest);
  axis(markup, scale);
  markup.leaf("p", {{"class", "hint"}},
              "The rest is the optimizer, waiting for data and for other ranks.");
  markup.close();
}

void draw_expected(Markup& markup, const RunFacts& facts) {
  if (!facts.expected_step_seconds) return;
  const double measured = median_step_seconds(facts);
  begin_section(markup, "What was expected", "By shoal plan, before the run.");
  const Scale scale = scale_of_seconds(std::max(measured, *facts.expected_step_seconds));
  const auto row = [&](const char* name, Ink ink, double seconds) {
    begin_row(markup, name);
    bar(markup, {{ink, seconds, format_seconds(seconds)}}, scale);
    end_row(markup, format_seconds(seconds));
  };
  row("step, expected", Ink::kWhole, *facts.expected_step_seconds);
  row("step, median", Ink::kBackward, measured);
  axis(markup, scale);
  markup.close();
}

void draw_restarts(Markup& markup, const RunFacts& facts) {
  const auto restarts = turns_of(facts);
  if (restarts.empty()) return;
  begin_section(markup, "Faults and restarts", "");
  Table table(markup, "", {});
  const size_t first = restarts.size() - std::min(restarts.size(), kMostRestarts);
  for (size_t i = first; i < restarts.size(); ++i)
    table.row(format("after step {}", restarts[i]->step), {restarts[i]->text});
  table.end();
  if (first > 0) markup.leaf("p", {{"class", "hint"}}, format("and {} before these", first));
  markup.close();
}

void draw_samples(Markup& markup, const RunFacts& facts) {
  const auto samples = texts_of(facts, "sample");
  if (samples.empty()) return;
  begin_section(markup, "What the model wrote", "");
  // The first, the middle and the last one show what was learned.
  const size_t count = std::min(samples.size(), kMostSamples);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = count == 1 ? 0 : i * (samples.size() - 1) / (count - 1);
    markup.leaf("h3", {}, format("step {}", samples[at]->step));
    markup.leaf("pre", {}, samples[at]->text);
  }
  markup.close();
}

}  // namespace

std::string run_report(const RunFacts& facts) {
  return html_page("Report of " + facts.name, [&facts](Markup& markup) {
    if (facts.records.empty()) {
      markup.leaf("h1", {}, facts.name).leaf("p", {}, "There is no step yet.");
      return;
    }
    draw_head(markup, facts);
    draw_loss(markup, facts);
    draw_speed(markup, facts);
    draw_memory(markup, facts);
    draw_time(markup, facts);
    if (facts.trace) draw_traced_step(markup, *facts.trace);
    draw_expected(markup, facts);
    draw_restarts(markup, facts);
    draw_samples(markup, facts);
    begin_section(markup, "Config", "");
    markup.leaf("pre", {}, config::to_yaml(facts.config));
    markup.close();
  });
}

}  // namespace shoal::picture
