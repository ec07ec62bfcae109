#include "shoal/picture/curve_chart.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/format.h"
#include "shoal/metrics/shown.h"
#include "shoal/picture/chart.h"

namespace shoal::picture {
namespace {

constexpr double kCurveHeight = 200;
constexpr size_t kMaxCurveColumns = 400;
constexpr double kFlat = 1e-9;  // of the larger magnitude
constexpr int kMostLabels = 50;
constexpr double kSpike = 1.5;  // times the range of nine tenths of the values

// Where steps and values lie in the plot.
struct Frame {
  double steps;
  ValueAxis values;

  [[nodiscard]] double x(double step) const { return step / steps * kPlotWidth; }
  [[nodiscard]] double y(double value) const {
    const double share = (value - values.low) / (values.high - values.low);
    return kCurveHeight * (1 - std::clamp(share, 0.0, 1.0));
  }
};

std::string line_of(const std::vector<CurveColumn>& columns, const Frame& frame) {
  std::string path;
  for (const CurveColumn& column : columns)
    path += format("{}{} {}", path.empty() ? "M" : " L", number(frame.x(column.step)),
                   number(frame.y(column.mean)));
  return path;
}

std::string area_of(const std::vector<CurveColumn>& columns, const Frame& frame) {
  std::string path;
  for (const CurveColumn& column : columns)
    path += format("{}{} {}", path.empty() ? "M" : " L", number(frame.x(column.step)),
                   number(frame.y(column.highest)));
  for (auto column = columns.rbegin(); column != columns.rend(); ++column)
    path += format(" L{} {}", number(frame.x(column->step)), number(frame.y(column->lowest)));
  return path + " Z";
}

// As many decimals as the distance between labels needs; thousands as 20k.
std::string label_of(double tick, const ValueAxis& values) {
  const double shown = std::abs(tick) < values.step / 2 ? 0 : tick;
  if (values.high >= 1e4) return metrics::shown(shown, metrics::Show::kRate);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(values.step) + 1e-9)));
  return format("{:.{}f}", shown, decimals);
}

void draw_labels(Markup& markup, const ValueAxis& values) {
  markup.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"class", "axis upright"},
                      {"height", number(kCurveHeight)}});
  const double first = std::ceil(values.low / values.step);
  const double last = std::floor(values.high / values.step + 1e-9);
  for (int i = 0; i < kMostLabels && first + i <= last; ++i) {
    const double tick = (first + i) * values.step;
    const double y = kCurveHeight * (1 - (tick - values.low) / (values.high - values.low));
    markup.leaf("text",
                {{"x", "100%"},
                 {"y", number(std::clamp(y + 4, 10.0, kCurveHeight - 1))},
                 {"text-anchor", "end"}},
                label_of(tick, values));
  }
  markup.close();
}

}  // namespace

std::vector<CurveColumn> columns_of(const std::vector<CurvePoint>& points, size_t most) {
  std::vector<CurvePoint> finite;
  std::copy_if(points.begin(), points.end(), std::back_inserter(finite),
               [](const CurvePoint& point) { return std::isfinite(point.value); });
  const size_t count = std::min(most, finite.size());
  std::vector<CurveColumn> columns;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * finite.size() / count;
    const size_t end = (i + 1) * finite.size() / count;
    CurveColumn column{.lowest = finite[begin].value, .highest = finite[begin].value};
    for (size_t at = begin; at < end; ++at) {
      column.step += static_cast<double>(finite[at].step) / static_cast<double>(end - begin);
      column.mean += finite[at].value / static_cast<double>(end - begin);
      column.lowest = std::min(column.lowest, finite[at].value);
      column.highest = std::max(column.highest, finite[at].value);
    }
    columns.push_back(column);
  }
  return columns;
}

ValueAxis axis_of(const std::vector<CurveColumn>& columns,
                  const std::vector<CurvePoint>& marks,
                  bool from_zero) {
  std::vector<double> values;
  for (const CurveColumn& column : columns) {
    values.push_back(column.lowest);
    values.push_back(column.highest);
  }
  for (const CurvePoint& mark : marks)
    if (std::isfinite(mark.value)) values.push_back(mark.value);
  std::sort(values.begin(), values.end());
  const double lowest = from_zero ? std::min(0.0, values.front()) : values.front();
  const double most_of = values[(values.size() - 1) * 9 / 10];
  const double cut = lowest + (1 + kSpike) * (most_of - lowest);
  double high = values.size() >= 20 ? std::min(values.back(), cut) : values.back();
  // What differs in its last bits is flat: no label could tell the difference.
  if (high - lowest <= kFlat * std::max(std::abs(high), std::abs(lowest)))
    high = lowest + std::max(1e-12, std::abs(lowest) * 0.1);
  const double margin = 0.05 * (high - lowest);  // so that dots are whole
  const double low = from_zero ? lowest : lowest - margin;
  high += margin;
  return {.low = low, .high = high, .step = nice_step(high - low)};
}

void draw_curve(Markup& markup, const Curve& curve) {
  const std::vector<CurveColumn> columns = columns_of(curve.points, kMaxCurveColumns);
  if (columns.empty()) {
    markup.leaf("p", {{"class", "hint"}}, "There is no figure yet.");
    return;
  }
  const Frame frame{.steps = static_cast<double>(std::max<int64_t>(curve.last_step, 1)),
                    .values = axis_of(columns, curve.marks, curve.from_zero)};
  markup.open("div", {{"class", "row tall"}});
  draw_labels(markup, frame.values);
  begin_plot(markup, kCurveHeight);
  markup.leaf("path", {{"class", format("{} pale area", class_of(curve.ink))},
                       {"d", area_of(columns, frame)}});
  for (const int64_t step : curve.uprights)
    upright(markup, "peak", frame.x(static_cast<double>(step)), kCurveHeight);
  markup.leaf("path",
              {{"class", format("{} curve", class_of(curve.ink))}, {"d", line_of(columns, frame)}});
  for (const CurvePoint& mark : curve.marks) {
    if (!std::isfinite(mark.value)) continue;
    // A line of no length with round ends is a dot that does not become an ellipse with the plot.
    const std::string x = number(frame.x(static_cast<double>(mark.step)));
    const std::string y = number(frame.y(mark.value));
    markup.open("line", {{"class", "mark"}, {"x1", x}, {"x2", x}, {"y1", y}, {"y2", y}})
        .leaf("title", {}, format("step {}: {:.4g}", mark.step, mark.value))
        .close();
  }
  markup.close();
  markup.leaf("span", {{"class", "value"}}, curve.unit_name).close();
  axis(markup, scale_of_count(static_cast<double>(curve.last_step), "step"));
}

}  // namespace shoal::picture
