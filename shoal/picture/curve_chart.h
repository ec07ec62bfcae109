// curve_chart.h -- a quantity over the steps of a run: a line through the means of columns of steps,
// a pale area between their lowest and highest values, and marks.
//
//   draw_curve(markup, {.points = losses, .marks = val_losses, .last_step = 2000});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/picture/ink.h"
#include "shoal/picture/markup.h"

namespace shoal::picture {

struct CurvePoint {
  int64_t step = 0;
  double value = 0;  // one that is not finite is left out
};

struct Curve {
  std::vector<CurvePoint> points;
  std::vector<CurvePoint> marks;  // drawn as dots on top
  std::vector<int64_t> uprights;  // steps with a dashed line from top to bottom
  int64_t last_step = 1;          // steps begin at 0
  bool from_zero = false;         // the axis begins at 0, else at the lowest value
  Ink ink = Ink::kBackward;
  std::string unit_name = "";
};

// Several points in a row, which have one place in the chart.
struct CurveColumn {
  double step = 0;  // the mean of its steps
  double mean = 0;
  double lowest = 0;
  double highest = 0;
};

// Returns at most `most` columns of equally many points.
std::vector<CurveColumn> columns_of(const std::vector<CurvePoint>& points, size_t most);

// Values from which to which the axis goes, with a label at each multiple of `step` between them.
struct ValueAxis {
  double low = 0;
  double high = 1;
  double step = 1;
};

// A single spike must not flatten the rest: what lies far above nine tenths of the values is cut off.
ValueAxis axis_of(const std::vector<CurveColumn>& columns,
                  const std::vector<CurvePoint>& marks,
                  bool from_zero);

// Draws nothing but a remark when there are no points.
void draw_curve(Markup& markup, const Curve& curve);

}  // namespace shoal::picture
