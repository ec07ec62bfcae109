#include "shoal/plan/schedule_picture.h"

#include <algorithm>
#include <cmath>

#include "shoal/core/error.h"

namespace shoal::plan {
namespace {

constexpr int kAlphabet = 26;

std::string label_of(const Action& action, const PipelineShape& shape, size_t room) {
  std::string label = (action.op == Op::kForward ? "F" : "B") + std::to_string(action.micro_batch);
  if (label.size() > room) return label.substr(0, 1);
  if (shape.chunks > 1 && action.chunk < kAlphabet && label.size() < room)
    label += static_cast<char>('a' + action.chunk);
  return label;
}

// Returns how many columns the step takes. The shortest pass gets a whole number of columns: as
// many as its label needs if there is room, otherwise as many as fit.
double columns_drawn(const PipelineShape& shape, const Simulation& simulation, int columns) {
  if (simulation.seconds == 0) return 0;
  double shortest = simulation.seconds;
  for (const RankTimeline& rank : simulation.ranks) {
    for (const auto& [action, begin, end] : rank.actions) {
      if (end > begin) shortest = std::min(shortest, end - begin);
    }
  }
  const Action longest_label{Op::kForward, shape.micro_batches - 1, 0};
  const auto wanted =
      static_cast<double>(label_of(longest_label, shape, static_cast<size_t>(columns)).size());
  const double fitting = columns * (shortest / simulation.seconds);
  if (fitting < 1) return columns;
  // A rounding error must not cost a column.
  return std::floor(std::min(wanted, fitting + 1e-9)) * (simulation.seconds / shortest);
}

}  // namespace

std::string picture(const Schedule& schedule, const Simulation& simulation, int width) {
  SHOAL_CHECK(width >= kMinPictureWidth, "a picture of {} columns", width);
  const size_t digits = std::to_string(schedule.ranks() - 1).size();
  const int columns = width - static_cast<int>(digits) - 7;  // "rank ", and two blanks
  const double all = columns_drawn(schedule.shape(), simulation, columns);
  // The first column whose middle is not before this time.
  const auto column_at = [&](double time) {
    if (simulation.seconds == 0) return size_t{0};
    const double column = std::ceil(time / simulation.seconds * all - 0.5 - 1e-9);
    return static_cast<size_t>(std::clamp(column, 0.0, static_cast<double>(columns)));
  };
  std::string text;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    std::string line(column_at(simulation.seconds), '.');
    for (const auto& [action, begin, end] : simulation.ranks[static_cast<size_t>(rank)].actions) {
      const size_t first = column_at(begin);
      const size_t room = column_at(end) - first;
      if (room == 0) continue;
      std::string drawn = label_of(action, schedule.shape(), room);
      drawn.resize(room, '-');
      line.replace(first, room, drawn);
    }
    text += format("rank {:<{}}  {}\n", rank, digits, line);
  }
  return text;
}

}  // namespace shoal::plan
