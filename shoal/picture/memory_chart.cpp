#include "shoal/picture/memory_chart.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/picture/chart.h"
#include "shoal/plan/program_text.h"

namespace shoal::picture {
namespace {

constexpr size_t kMaxBars = 16;
constexpr size_t kMaxColumns = 400;
constexpr double kTimelineHeight = 180;

// An axis that reaches the device's memory, unless bars would then be too short to read.
Scale memory_scale(const PlanFacts& facts) {
  constexpr double kRoom = 1.06;
  constexpr double kTooFar = 4;
  double most = 0;
  for (const StageMemory& stage : facts.stages)
    most = std::max(most, static_cast<double>(stage.total()));
  const auto capacity = static_cast<double>(facts.capacity().value_or(0));
  return scale_of_bytes(kRoom * (capacity < kTooFar * most ? std::max(most, capacity) : most));
}

std::optional<double> limit_of(const PlanFacts& facts) {
  if (!facts.capacity()) return std::nullopt;
  return static_cast<double>(*facts.capacity());
}

void memory_legend(Markup& markup, const PlanFacts& facts, const Scale& scale) {
  std::vector<LegendEntry> entries;
  for (size_t kind = 0; kind < kNumMemoryParts; ++kind) {
    const Ink ink = parts_of({}, 0)[kind].ink;
    const bool there =
        std::any_of(facts.stages.begin(), facts.stages.end(),
                    [&](const auto& stage) { return stage.parts()[kind].bytes > 0; });
    if (there) entries.push_back({std::string(class_of(ink)), std::string(memory_name(ink))});
  }
  if (facts.capacity()) {
    const bool seen = static_cast<double>(*facts.capacity()) <= scale.max;
    entries.push_back(
        {"limit", format("{} has {}{}", facts.cluster->device.name, format_bytes(*facts.capacity()),
                         seen ? "" : ", beyond the axis")});
  }
  legend(markup, entries);
}

// The area below the sum of the first kinds, over all columns.
std::string area(const std::vector<MemoryColumn>& columns,
                 size_t kinds,
                 int64_t beside,
                 const Scale& scale) {
  const auto operations = static_cast<double>(columns.back().end);
  std::string path = format("M0 {}", number(kTimelineHeight));
  double drawn = -1;
  for (const MemoryColumn& column : columns) {
    const MemoryParts parts = parts_of(column.highest, beside);
    int64_t sum = 0;
    for (size_t kind = 0; kind < kinds; ++kind) sum += parts[kind].bytes;
    const double height = static_cast<double>(sum) / scale.max * kTimelineHeight;
    if (std::abs(height - drawn) < 0.01) continue;
    const double x = static_cast<double>(column.begin) / operations * kPlotWidth;
    if (drawn >= 0) path += format("H{}", std::lround(x));
    path += format("V{}", number(kTimelineHeight - height));
    drawn = height;
  }
  return path + format("H{}V{}z", number(kPlotWidth), number(kTimelineHeight));
}

void draw_areas(Markup& markup,
                const PlanFacts& facts,
                const std::vector<MemoryColumn>& columns,
                const Scale& scale) {
  const StageMemory& stage = facts.fullest_stage();
  const int64_t beside = stage.beside.total();
  // The higher sums first: each lower one covers what it does not add.
  for (size_t kinds = kNumMemoryParts; kinds > 0; --kinds) {
    const Ink ink = parts_of({}, 0)[kinds - 1].ink;
    const bool there = std::any_of(columns.begin(), columns.end(), [&](const MemoryColumn& column) {
      return parts_of(column.highest, beside)[kinds - 1].bytes > 0;
    });
    if (!there) continue;
    markup.open("path", {{"class", class_of(ink)}, {"d", area(columns, kinds, beside, scale)}})
        .leaf("title", {}, memory_name(ink))
        .close();
  }
}

}  // namespace

std::vector<MemoryColumn> thinned(const std::vector<plan::Memory>& timeline, size_t most) {
  const size_t columns = std::min(most, timeline.size());
  std::vector<MemoryColumn> result;
  for (size_t i = 0; i < columns; ++i) {
    const size_t begin = i * timeline.size() / columns;
    const size_t end = (i + 1) * timeline.size() / columns;
    const auto first = timeline.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = timeline.begin() + static_cast<std::ptrdiff_t>(end);
    const auto highest = std::max_element(
        first, last,
        [](const plan::Memory& a, const plan::Memory& b) { return a.peak() < b.peak(); });
    result.push_back({begin, end, *highest});
  }
  return result;
}

void draw_stage_memory(Markup& markup, const PlanFacts& facts) {
  const Scale scale = memory_scale(facts);
  memory_legend(markup, facts, scale);
  const auto fullest = static_cast<size_t>(facts.fullest.plan.pipeline_rank);
  size_t next = 0;
  for (const size_t number : some_of(facts.stages.size(), kMaxBars, fullest)) {
    if (number > next)
      markup.leaf("p", {{"class", "gap"}}, format("{} more stages", number - next));
    next = number + 1;
    const StageMemory& stage = facts.stages[number];
    std::vector<Segment> segments;
    for (const auto& [ink, bytes] : stage.parts()) {
      segments.push_back({ink, static_cast<double>(bytes),
                          format("{}: {}", memory_name(ink), format_bytes(bytes))});
    }
    begin_row(markup, format("stage {}", number));
    bar(markup, segments, scale, limit_of(facts));
    end_row(markup, format_bytes(stage.total()));
  }
  axis(markup, scale);
}

void draw_memory_timeline(Markup& markup, const PlanFacts& facts) {
  const auto& [plan, program, memory] = facts.fullest;
  const std::vector<MemoryColumn> columns =
      thinned(plan::memory_timeline(plan, program), kMaxColumns);
  const Scale scale = memory_scale(facts);
  const auto operations = static_cast<double>(program.size());
  const double peak = (static_cast<double>(memory.operation) + 0.5) / operations * kPlotWidth;
  markup.open("p", {{"class", "hint"}})
      .leaf("b", {}, format("Peak of rank {} (dotted line): ", plan.rank))
      .text(format("operation {} of {}, {}: {} of tensors, and {} beside them.", memory.operation,
                   program.size(), plan::describe(plan, program[memory.operation]),
                   format_bytes(memory.peak()), format_bytes(facts.fullest_stage().beside.total())))
      .close();
  markup.open("div", {{"class", "row tall"}});
  markup.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"class", "axis upright"},
                      {"height", number(kTimelineHeight)}});
  for (const double tick : scale.ticks()) {
    const double y = kTimelineHeight * (1 - tick / scale.max);
    const bool lowest = tick == 0;
    markup.leaf("text",
                {{"x", "100%"},
                 {"y", number(lowest ? y - 1 : std::max(y + 4, 10.0))},
                 {"text-anchor", "end"}},
                lowest ? "0 " + scale.unit_name : scale.label_of(tick));
  }
  markup.close();
  begin_plot(markup, kTimelineHeight);
  draw_areas(markup, facts, columns, scale);
  upright(markup, "peak", peak, kTimelineHeight);
  const std::optional<double> limit = limit_of(facts);
  if (limit && *limit <= scale.max) {
    const std::string y = number(kTimelineHeight * (1 - *limit / scale.max));
    markup.leaf(
        "line",
        {{"class", "limit"}, {"x1", "0"}, {"x2", number(kPlotWidth)}, {"y1", y}, {"y2", y}});
  }
  markup.close();
  markup.leaf("span", {{"class", "value"}}, "").close();
  axis(markup, scale_of_count(operations, "operation"));
}

}  // namespace shoal::picture
