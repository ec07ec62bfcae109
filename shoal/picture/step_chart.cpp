#include "shoal/picture/step_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/core/format.h"
#include "shoal/picture/chart.h"

namespace shoal::picture {
namespace {

using plan::Spent;

constexpr size_t kMaxTitles = 800;  // blocks of all lanes that have one
constexpr size_t kMaxBlocks = 300;  // blocks of a lane that can be seen
constexpr size_t kMoments = 200;    // of a lane with more
constexpr double kLaneHeight = 20;
constexpr double kBesideHeight = 4;
constexpr double kBesideGap = 2;
constexpr double kGap = 10;  // a thousandth of the plot

// What interrupts a pass, in the order in which it is drawn at the pass's end.
constexpr std::array kExposed = {Spent::kTensor, Spent::kWeights, Spent::kGradients};

bool is_crowded(const Lane& lane) { return lane.blocks.size() > kMaxBlocks; }

double exposed_of(const Block& block) {
  double seconds = 0;
  for (const Spent what : kExposed) seconds += block.by(what);
  return seconds;
}

std::string title_of(const Block& block) {
  std::string title = format("{}: {}", block.name, format_seconds(block.end - block.begin));
  for (const Spent what : kExposed) {
    if (block.by(what) > 0)
      title += format("\n{} {}", format_seconds(block.by(what)), plan::spent_name(what));
  }
  return title;
}

// Strokes of one colour in one path: the shortest way to write many bars.
class Strokes {
 public:
  void along(double from, double to, double y) {
    const long begin = std::lround(from);
    path_ += format("M{} {}h{}", begin, number(y), std::max(std::lround(to) - begin, 1L));
  }
  void up(double x, double from, double to) {
    path_ += format("M{} {}V{}", number(x), number(from), number(to));
  }
  void draw(Markup& markup, std::string_view kind, Ink ink, double width) const {
    if (path_.empty()) return;
    markup.leaf("path", {{"class", format("{} {}", kind, class_of(ink))},
                         {"style", format("stroke-width:{}", number(width))},
                         {"d", path_}});
  }

 private:
  std::string path_;
};

using StrokesByInk = std::array<Strokes, kNumInks>;

Strokes& strokes_of(StrokesByInk& strokes, Ink ink) { return strokes[static_cast<size_t>(ink)]; }

void draw_strokes(Markup& markup,
                  const StrokesByInk& strokes,
                  std::string_view kind,
                  double width) {
  for (int i = 0; i < kNumInks; ++i)
    strokes[static_cast<size_t>(i)].draw(markup, kind, static_cast<Ink>(i), width);
}

// Calls use(ink, begin, end) for what a block computes, and for what it waits for, at its end but
// for the waiting with which it begins.
template <class Use>
void for_parts(const Block& block, const Use& use) {
  double at = block.begin;
  const auto part = [&](Ink ink, double seconds) {
    if (seconds > 0) use(ink, at, at + seconds);
    at += seconds;
  };
  part(Ink::kWeights, block.lead);
  part(block.ink, block.end - block.begin - exposed_of(block));
  for (const Spent what : kExposed)
    part(ink_of(what), block.by(what) - (what == Spent::kWeights ? block.lead : 0));
}

// A thin gap in front of what a block computes tells it from the one before.
void draw_blocks(Markup& markup, const Lane& lane, const Scale& scale) {
  for (const Block& block : lane.blocks) {
    markup.open("g").leaf("title", {}, title_of(block));
    for_parts(block, [&](Ink ink, double begin, double end) {
      const double from = scale.place_of(begin);
      const double to = scale.place_of(end);
      const double x = std::round(from + (ink == block.ink ? std::min(kGap, (to - from) / 4) : 0));
      markup.leaf("rect", {{"class", class_of(ink)},
                           {"x", number(x)},
                           {"width", number(std::max(std::round(to) - x, 1.0))},
                           {"height", number(kLaneHeight)}});
    });
    markup.close();
  }
}

void draw_untitled(Markup& markup, const Lane& lane, const Scale& scale) {
  StrokesByInk strokes;
  for (const Block& block : lane.blocks) {
    for_parts(block, [&](Ink ink, double begin, double end) {
      strokes_of(strokes, ink).along(scale.place_of(begin), scale.place_of(end), kLaneHeight / 2);
    });
  }
  draw_strokes(markup, strokes, "strokes", kLaneHeight);
}

// Seconds of each colour in each moment of a lane.
using Moments = std::vector<std::array<double, kNumInks>>;

Moments moments_of(const Lane& lane, double seconds) {
  Moments moments(kMoments);
  const double moment = seconds / static_cast<double>(kMoments);
  for (const Block& block : lane.blocks) {
    const double whole = block.end - block.begin;
    for (auto i = static_cast<size_t>(block.begin / moment);
         i < kMoments && static_cast<double>(i) * moment < block.end; ++i) {
      const double from = std::max(block.begin, static_cast<double>(i) * moment);
      const double to = std::min(block.end, static_cast<double>(i + 1) * moment);
      const double share = (to - from) / whole;
      for_parts(block, [&](Ink ink, double begin, double end) {
        moments[i][static_cast<size_t>(ink)] += share * (end - begin);
      });
    }
  }
  return moments;
}

// Passes from the bottom to the top, then what they wait for.
void draw_moments(Markup& markup, const Lane& lane, const Scale& scale) {
  constexpr std::array kOrder = {Ink::kForward, Ink::kRecompute, Ink::kBackward, Ink::kUpdate,
                                 Ink::kOther,   Ink::kTensor,    Ink::kWeights,  Ink::kGradients};
  const Moments moments = moments_of(lane, scale.max);
  const double moment = scale.max / static_cast<double>(kMoments);
  StrokesByInk strokes;
  for (size_t i = 0; i < kMoments; ++i) {
    double bottom = kLaneHeight;
    for (const Ink ink : kOrder) {
      const double height = moments[i][static_cast<size_t>(ink)] / moment * kLaneHeight;
      if (height < 0.05) continue;
      strokes_of(strokes, ink)
          .up(scale.place_of((static_cast<double>(i) + 0.5) * moment), bottom, bottom - height);
      bottom -= height;
    }
  }
  draw_strokes(markup, strokes, "columns", scale.place_of(moment));
}

// A thin row for each thing that runs beside in any lane.
struct BesideRows {
  bool gathers = false;
  bool reductions = false;
  bool sends = false;

  [[nodiscard]] double height() const {
    const int rows = (gathers ? 1 : 0) + (reductions ? 1 : 0) + (sends ? 1 : 0);
    return rows * (kBesideHeight + kBesideGap);
  }
};

BesideRows rows_of(const std::vector<Lane>& lanes) {
  BesideRows rows;
  for (const Lane& lane : lanes) {
    rows.gathers |= !lane.gathers.runs.empty();
    rows.reductions |= !lane.reductions.runs.empty();
    rows.sends |= !lane.sends.runs.empty();
  }
  return rows;
}

void draw_beside(Markup& markup, const Lane& lane, const BesideRows& rows, const Scale& scale) {
  double middle = kLaneHeight + kBesideGap + kBesideHeight / 2;
  const auto row = [&](bool shown, Ink ink, const Beside& beside) {
    if (!shown) return;
    Strokes runs;
    Strokes awaits;
    for (const auto& [begin, end] : beside.runs)
      runs.along(scale.place_of(begin), scale.place_of(end), middle);
    for (const auto& [begin, end] : beside.awaits)
      awaits.along(scale.place_of(begin), scale.place_of(end), middle);
    runs.draw(markup, "strokes pale", ink, kBesideHeight);
    awaits.draw(markup, "strokes", ink, kBesideHeight);
    middle += kBesideHeight + kBesideGap;
  };
  row(rows.gathers, Ink::kWeights, lane.gathers);
  row(rows.reductions, Ink::kGradients, lane.reductions);
  row(rows.sends, Ink::kActivations, lane.sends);
}

void draw_legend(Markup& markup, const std::vector<Lane>& lanes, const BesideRows& rows) {
  std::array<bool, kNumInks> used{};
  for (const Lane& lane : lanes) {
    for (const Block& block : lane.blocks) {
      used[static_cast<size_t>(block.ink)] = true;
      for (const Spent what : kExposed)
        used[static_cast<size_t>(ink_of(what))] |= block.by(what) > 0;
    }
  }
  std::vector<LegendEntry> entries;
  const auto entry = [&](Ink ink) {
    if (used[static_cast<size_t>(ink)])
      entries.push_back({std::string(class_of(ink)), std::string(pass_name(ink))});
  };
  for (const Ink ink : {Ink::kForward, Ink::kRecompute, Ink::kBackward, Ink::kUpdate, Ink::kTensor,
                        Ink::kWeights, Ink::kGradients, Ink::kOther})
    entry(ink);
  const auto beside = [&](bool shown, Ink ink, const char* name) {
    if (shown) entries.push_back({format("{} pale", class_of(ink)), name});
  };
  beside(rows.gathers, Ink::kWeights, "gathers beside computation");
  beside(rows.reductions, Ink::kGradients, "reductions beside computation");
  beside(rows.sends, Ink::kActivations, "sends beside computation");
  legend(markup, entries);
}

}  // namespace

void draw_step(Markup& markup, const PlanFacts& facts, const std::vector<Lane>& lanes) {
  const BesideRows rows = rows_of(lanes);
  const Scale scale = scale_of_seconds(facts.time->seconds);
  const std::vector<size_t> shown =
      some_of(lanes.size(), kMaxLanes, static_cast<size_t>(facts.fullest.plan.pipeline_rank));
  size_t blocks = 0;
  for (const size_t stage : shown) blocks += lanes[stage].blocks.size();
  draw_legend(markup, lanes, rows);
  if (std::any_of(shown.begin(), shown.end(), [&](size_t i) { return is_crowded(lanes[i]); }))
    markup.leaf("p", {{"class", "hint"}},
                "Passes are too many to be seen: a lane shows the share of each colour in each "
                "moment, and what is missing at its top is waiting for other stages.");
  size_t next = 0;
  for (const size_t stage : shown) {
    if (stage > next) markup.leaf("p", {{"class", "gap"}}, format("{} more stages", stage - next));
    next = stage + 1;
    const Lane& lane = lanes[stage];
    const plan::RankTime& time = facts.time->stages[stage];
    begin_row(markup, format("stage {}", stage));
    begin_plot(markup, kLaneHeight + rows.height(), "plot lane");
    if (is_crowded(lane)) {
      draw_moments(markup, lane, scale);
    } else if (blocks > kMaxTitles) {
      draw_untitled(markup, lane, scale);
    } else {
      draw_blocks(markup, lane, scale);
    }
    draw_beside(markup, lane, rows, scale);
    markup.close();
    const double idle = time.by(Spent::kPipeline) / time.seconds;
    end_row(markup, lanes.size() > 1 ? format_share(idle) + " idle" : std::string());
  }
  axis(markup, scale);
}

}  // namespace shoal::picture
