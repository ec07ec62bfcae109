#include "shoal/picture/traced_step.h"

#include <algorithm>
#include <map>

#include "shoal/core/format.h"
#include "shoal/picture/chart.h"
#include "shoal/picture/html_page.h"
#include "shoal/picture/step_lanes.h"

namespace shoal::picture {
namespace {

// Waiting has the colour that it has in pictures of a plan. Groups of several axes sum losses and norms.
Ink ink_of_group(const std::string& group) {
  if (group == "pp") return Ink::kIdle;
  if (group == "tp") return Ink::kTensor;
  if (group == "dp_shard") return Ink::kWeights;
  if (group == "dp_replicate") return Ink::kGradients;
  return Ink::kOther;
}

std::string words_of_group(const std::string& group) {
  return group == "pp" ? "waiting for other stages (pp: bubble and transfers)"
                       : format("waiting for {}", group);
}

// One row of the legend, and the seconds of it on each rank.
struct Part {
  std::string words;
  Ink ink = Ink::kOther;
  std::vector<double> seconds;
};

std::vector<Part> parts_of_step(const metrics::TraceSummary& trace) {
  Part compute{"computation", Ink::kBackward, {}};
  Part data{"waiting for data", Ink::kActivations, {}};
  Part between{"between operations", Ink::kLaunches, {}};
  std::map<std::string, Part> waits;
  for (size_t i = 0; i < trace.ranks.size(); ++i) {
    const metrics::StepShares& rank = trace.ranks[i];
    compute.seconds.push_back(rank.compute);
    data.seconds.push_back(rank.data);
    between.seconds.push_back(rank.between);
    for (const auto& [group, seconds] : rank.waits) {
      Part& part = waits[group];
      part.seconds.resize(trace.ranks.size());
      part.seconds[i] = seconds;
    }
  }
  std::vector<Part> parts = {std::move(compute)};
  for (auto& [group, part] : waits)
    parts.push_back({words_of_group(group), ink_of_group(group), std::move(part.seconds)});
  parts.push_back(std::move(data));
  parts.push_back(std::move(between));
  return parts;
}

}  // namespace

void draw_traced_step(Markup& markup, const metrics::TraceSummary& trace) {
  if (trace.ranks.empty()) return;
  begin_section(markup, "Where the time of a step went",
                "Of the step that was traced last; its file opens in Perfetto.");
  const std::vector<Part> parts = parts_of_step(trace);
  std::vector<LegendEntry> entries;
  entries.reserve(parts.size());
  for (const Part& part : parts) entries.push_back({std::string(class_of(part.ink)), part.words});
  legend(markup, entries);
  double longest = 0;
  for (const metrics::StepShares& rank : trace.ranks) longest = std::max(longest, rank.step);
  const Scale scale = scale_of_seconds(longest);
  const size_t shown = std::min(trace.ranks.size(), kMaxLanes);
  for (size_t i = 0; i < shown; ++i) {
    const metrics::StepShares& rank = trace.ranks[i];
    std::vector<Segment> segments;
    segments.reserve(parts.size());
    for (const Part& part : parts)
      segments.push_back({part.ink, part.seconds[i],
                          format("{}: {}", part.words, format_seconds(part.seconds[i]))});
    begin_row(markup, rank.name);
    bar(markup, segments, scale);
    end_row(markup, rank.step > 0 ? format("{} computation", format_share(rank.compute / rank.step))
                                  : std::string("no time"));
  }
  axis(markup, scale);
  if (trace.slices_left_out > 0)
    markup.leaf(
        "p", {{"class", "hint"}},
        format("The trace was full before the step was over: {} operations, waits and calls are "
               "missing, mostly of its end, and with them their time.",
               trace.slices_left_out));
  markup.leaf("p", {{"class", "hint"}},
              format("Step {}{}. The clocks of the ranks agree within {}.", trace.step,
                     shown < trace.ranks.size()
                         ? format(", the first {} of {} ranks", shown, trace.ranks.size())
                         : std::string(),
                     format_seconds(trace.clock_error_us / 1e6)));
  markup.close();
}

}  // namespace shoal::picture
