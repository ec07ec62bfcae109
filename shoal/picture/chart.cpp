#include "shoal/picture/chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/core/error.h"
#include "shoal/core/format.h"

namespace shoal::picture {
namespace {

constexpr double kBarHeight = 18;
constexpr int kMaxTicks = 5;  // beside that at 0

Scale scale_in(double max, double unit, std::string unit_name) {
  return {.max = max,
          .step = nice_step(max / unit) * unit,
          .unit = unit,
          .unit_name = std::move(unit_name)};
}

}  // namespace

double nice_step(double range) {
  const double least = range / kMaxTicks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> Scale::ticks() const {
  std::vector<double> ticks;
  for (int i = 0; i * step <= max * (1 + 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

std::string Scale::label_of(double tick) const {
  const double shown = tick / unit;
  const double last = max / unit;
  if (tick == 0 || last < 1e4) return format("{:.4g}", shown);
  return last < 1e6 ? format("{:.4g}k", shown / 1e3) : format("{:.4g}M", shown / 1e6);
}

Scale scale_of_bytes(double max) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double unit = 1;
  size_t at = 0;
  while (max / unit >= 1024 && at + 1 < kUnits.size()) {
    unit *= 1024;
    ++at;
  }
  return scale_in(std::max(max, 1.0), unit, kUnits[at]);
}

Scale scale_of_seconds(double max) {
  if (max >= 1) return scale_in(max, 1, "s");
  if (max >= 1e-3) return scale_in(max, 1e-3, "ms");
  return scale_in(std::max(max, 1e-9), 1e-6, "us");
}

Scale scale_of_count(double max, std::string what) {
  return scale_in(std::max(max, 1.0), 1, std::move(what));
}

std::string format_seconds(double seconds) {
  if (seconds >= 1) return format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return format("{:.3g} ms", seconds * 1e3);
  return format("{:.3g} us", seconds * 1e6);
}

std::string format_share(double share) {
  return share >= 0.0995 || share == 0 ? format("{:.0f} %", 100 * share)
                                       : format("{:.1f} %", 100 * share);
}

void begin_row(Markup& markup, std::string_view label) {
  markup.open("div", {{"class", "row"}}).leaf("span", {{"class", "label"}}, label);
}

void end_row(Markup& markup, std::string_view value) {
  markup.leaf("span", {{"class", "value"}}, value).close();
}

void begin_plot(Markup& markup, double height, std::string_view kind) {
  markup.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"class", kind},
                      {"viewBox", format("0 0 {} {}", number(kPlotWidth), number(height))},
                      {"height", number(height)},
                      {"preserveAspectRatio", "none"}});
}

void upright(Markup& markup, std::string_view kind, double x, double height) {
  markup.leaf(
      "line",
      {{"class", kind}, {"x1", number(x)}, {"x2", number(x)}, {"y1", "0"}, {"y2", number(height)}});
}

void bar(Markup& markup,
         const std::vector<Segment>& segments,
         const Scale& scale,
         std::optional<double> limit) {
  begin_plot(markup, kBarHeight);
  double at = 0;
  for (const auto& [ink, value, title] : segments) {
    const double x = scale.place_of(at);
    at += value;
    if (value <= 0) continue;
    markup
        .open("rect", {{"class", class_of(ink)},
                       {"x", number(x)},
                       {"width", number(scale.place_of(at) - x)},
                       {"height", number(kBarHeight)}})
        .leaf("title", {}, title)
        .close();
  }
  if (limit && *limit <= scale.max) upright(markup, "limit", scale.place_of(*limit), kBarHeight);
  markup.close();
}

void axis(Markup& markup, const Scale& scale) {
  begin_row(markup, "");
  markup.open("svg",
              {{"xmlns", "http://www.w3.org/2000/svg"}, {"class", "axis"}, {"height", "20"}});
  for (const double tick : scale.ticks()) {
    const double percent = 100 * tick / scale.max;
    const std::string x = number(percent) + "%";
    markup.leaf("line", {{"x1", x}, {"x2", x}, {"y1", "0"}, {"y2", "5"}});
    const char* anchor = tick == 0 ? "start" : percent > 95 ? "end" : "middle";
    markup.leaf("text", {{"x", x}, {"y", "17"}, {"text-anchor", anchor}}, scale.label_of(tick));
  }
  markup.close();
  end_row(markup, scale.unit_name);
}

void legend(Markup& markup, const std::vector<LegendEntry>& entries) {
  markup.open("p", {{"class", "legend"}});
  for (const auto& [kind, text] : entries) {
    markup.open("span").leaf("i", {{"class", kind}}).text(text).close().text(" ");
  }
  markup.close();
}

}  // namespace shoal::picture
