// chart.h -- rows of bars with an axis below them: text is HTML, which the browser lays out, and
// shapes are SVG that takes the width it is given, so that a chart reads at any width.
//
//   const Scale scale = scale_of_bytes(80e9);
//   begin_row(markup, "stage 0");
//   bar(markup, {{Ink::kWeights, 3e9, "weights"}}, scale, /*limit=*/80e9);
//   end_row(markup, "2.79 GiB");
//   axis(markup, scale);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/picture/ink.h"
#include "shoal/picture/markup.h"

namespace shoal::picture {

// The plot is as wide as this, in units of its own.
constexpr double kPlotWidth = 10'000;

// An axis from 0 to `max`, with a label at each multiple of `step`.
struct Scale {
  double max = 1;
  double step = 1;
  double unit = 1;  // of the labels
  std::string unit_name = "";

  [[nodiscard]] double place_of(double value) const { return value / max * kPlotWidth; }
  // Returns the labels, few and short enough for the narrowest page.
  [[nodiscard]] std::vector<double> ticks() const;
  [[nodiscard]] std::string label_of(double tick) const;
};

// Returns a step of 1, 2 or 5 times a power of ten that divides `range` into few parts.
double nice_step(double range);

Scale scale_of_bytes(double max);
Scale scale_of_seconds(double max);
Scale scale_of_count(double max, std::string what);

std::string format_seconds(double seconds);  // "1.23 s", "45.6 ms"
std::string format_share(double share);      // "12 %", "0.4 %"

// A part of a bar, with the text that a pointer over it shows.
struct Segment {
  Ink ink;
  double value;
  std::string title;
};

void begin_row(Markup& markup, std::string_view label);
void end_row(Markup& markup, std::string_view value);

// Segments side by side from 0, and a line at the limit if the axis reaches it.
void bar(Markup& markup,
         const std::vector<Segment>& segments,
         const Scale& scale,
         std::optional<double> limit = std::nullopt);

// The labels of the axis below rows.
void axis(Markup& markup, const Scale& scale);

// Opens the SVG of a plot with so many pixels of height, which are its units too.
void begin_plot(Markup& markup, double height, std::string_view kind = "plot");
// A line from top to bottom of a plot.
void upright(Markup& markup, std::string_view kind, double x, double height);

struct LegendEntry {
  std::string kind;  // class of its sample
  std::string text;
};

void legend(Markup& markup, const std::vector<LegendEntry>& entries);

}  // namespace shoal::picture
