#include "shoal/picture/short_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/picture/chart.h"

namespace shoal::picture {
namespace {

constexpr size_t kBarColumns = 64;
constexpr size_t kMaxStagesShown = 8;

// Shades from the darkest to the lightest, what is free, and a limit.
using Shades = std::array<std::string_view, 6>;
constexpr Shades kBlocks = {"\u2588", "\u2593", "\u2592", "\u2591", "\u00b7", "|"};
constexpr Shades kAscii = {"#", "=", "+", "-", ".", "|"};
constexpr size_t kFree = 4;
constexpr size_t kLimit = 5;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct Shaded {
  size_t shade;
  double value;
};

// Returns a bar in which each value ends at the column nearest to its sum with those before.
std::string bar_of(const std::vector<Shaded>& parts,
                   double max,
                   double limit,
                   const Shades& shades) {
  const auto column = [max](double value) {
    return static_cast<size_t>(std::lround(std::clamp(value / max, 0.0, 1.0) * kBarColumns));
  };
  std::vector<std::string_view> columns(kBarColumns, shades[kFree]);
  double sum = 0;
  for (const auto& [shade, value] : parts) {
    const size_t begin = column(sum);
    sum += value;
    std::fill(columns.begin() + static_cast<std::ptrdiff_t>(begin),
              columns.begin() + static_cast<std::ptrdiff_t>(column(sum)), shades[shade]);
  }
  if (column(limit) < kBarColumns) columns[column(limit)] = shades[kLimit];
  std::string bar;
  for (const std::string_view shade : columns) bar += shade;
  return bar;
}

std::string memory_lines(const PlanFacts& facts, const Shades& shades) {
  const auto capacity = facts.capacity();
  auto max = static_cast<double>(capacity.value_or(0));
  for (const StageMemory& stage : facts.stages)
    max = std::max(max, static_cast<double>(stage.total()));
  std::string text =
      format("memory of stages   {} state  {} gathered  {} activations  {} beside{}\n", shades[0],
             shades[1], shades[2], shades[3],
             capacity ? format("  of {}", format_bytes(*capacity)) : std::string());
  const auto fullest = static_cast<size_t>(facts.fullest.plan.pipeline_rank);
  const bool few = facts.stages.size() <= kMaxStagesShown;
  for (const size_t i : some_of(facts.stages.size(), few ? kMaxStagesShown : 3, fullest)) {
    const StageMemory& stage = facts.stages[i];
    const plan::Memory& memory = stage.peak.memory;
    const auto gathered = static_cast<double>(memory.whole_weights + memory.whole_gradients);
    const std::vector<Shaded> parts = {{0, static_cast<double>(memory.state())},
                                       {1, gathered},
                                       {2, static_cast<double>(memory.activations)},
                                       {3, static_cast<double>(stage.beside.total())}};
    text += format("  stage {:<5} {} {:>10}{}\n", i,
                   bar_of(parts, max, capacity ? static_cast<double>(*capacity) : kNoLimit, shades),
                   format_bytes(stage.total()),
                   capacity && stage.total() > *capacity ? " too much" : "");
  }
  return text;
}

// Returns as many of the parts that commas divide as fit.
std::string cut_at_comma(const std::string& words, size_t columns) {
  if (words.size() <= columns) return words;
  const size_t comma = words.rfind(',', columns);
  return comma == std::string::npos ? words.substr(0, columns) : words.substr(0, comma);
}

std::string step_lines(const PlanFacts& facts, const Shades& shades) {
  const plan::RankTime& time = facts.time->busiest();
  using plan::Spent;
  const double communication = time.by(Spent::kTensor) + time.by(Spent::kWeights) +
                               time.by(Spent::kGradients) + time.by(Spent::kSlowed) +
                               time.by(Spent::kOther);
  const std::vector<Shaded> parts = {{0, time.by(Spent::kProducts)},
                                     {1, time.by(Spent::kAttention)},
                                     {2, time.by(Spent::kMemory)},
                                     {3, communication}};
  constexpr size_t kIndent = 14;
  return format(
      "busiest stage      {} products  {} attention  {} bytes  {} communication  {} idle\n"
      "  step        {} {:>10}\n{:<{}}{}\n",
      shades[0], shades[1], shades[2], shades[3], shades[kFree],
      bar_of(parts, time.seconds, kNoLimit, shades), format_seconds(facts.time->seconds), "",
      kIndent, cut_at_comma(plan::shares_in_words(time), kShortFormColumns - kIndent));
}

}  // namespace

std::string short_form(const PlanFacts& facts, const ShortFormOptions& options) {
  const Shades& shades = options.blocks ? kBlocks : kAscii;
  return memory_lines(facts, shades) + (facts.time ? step_lines(facts, shades) : std::string());
}

}  // namespace shoal::picture
