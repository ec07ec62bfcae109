#include "shoal/plan/mesh.h"

#include <algorithm>
#include <array>

#include "shoal/core/error.h"
#include "shoal/core/limits.h"

namespace shoal::plan {
namespace {

constexpr std::array<std::string_view, kNumAxes> kAxisNames = {"dp_replicate", "dp_shard", "cp",
                                                               "pp",           "tp",       "ep"};

}  // namespace

std::string_view axis_name(Axis axis) { return kAxisNames[static_cast<size_t>(axis)]; }

std::string AxisSet::name() const {
  std::string text;
  for (int i = 0; i < kNumAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (!contains(axis)) continue;
    if (!text.empty()) text += '+';
    text += axis_name(axis);
  }
  return text;
}

Mesh::Mesh(std::vector<Dimension> dimensions)
    : dimensions_(std::move(dimensions)), strides_(dimensions_.size()) {
  AxisSet seen{};
  // Innermost first: its neighbours are adjacent, each further axis strides over all inside it.
  for (size_t i = dimensions_.size(); i-- > 0;) {
    const auto [axis, size] = dimensions_[i];
    const std::string_view name = axis_name(axis);
    if (axis == Axis::kEp) {
      throw UsageError(
          "mesh axis ep is reserved for expert parallelism, which this version does not have");
    }
    if (seen.contains(axis)) {
      throw UsageError(format("mesh axis {} is listed twice: give each axis once", name));
    }
    if (size < 1)
      throw UsageError(format("mesh axis {} has size {}, but needs at least 1", name, size));
    if (size > kMaxRanks / num_ranks_) {
      throw UsageError(
          format("mesh axis {} of size {} makes more than {} ranks: choose smaller degrees", name,
                 size, kMaxRanks));
    }
    seen = seen.with(axis);
    strides_[i] = num_ranks_;
    num_ranks_ *= size;
  }
}

int Mesh::size(AxisSet axes) const {
  int product = 1;
  for (const auto [axis, size] : dimensions_) {
    if (axes.contains(axis)) product *= size;
  }
  return product;
}

AxisSet Mesh::crowded(AxisSet axes) const {
  AxisSet found;
  for (const auto [axis, size] : dimensions_) {
    if (size > 1 && axes.contains(axis)) found = found.with(axis);
  }
  return found;
}

std::vector<int> Mesh::coordinate(int rank) const {
  SHOAL_CHECK(rank >= 0 && rank < num_ranks_, "rank {} in a mesh of {}", rank, num_ranks_);
  std::vector<int> result(dimensions_.size());
  for (size_t i = 0; i < dimensions_.size(); ++i)
    result[i] = rank / strides_[i] % dimensions_[i].size;
  return result;
}

int Mesh::rank_at(const std::vector<int>& coordinate) const {
  SHOAL_CHECK(coordinate.size() == dimensions_.size(),
              "a coordinate of {} entries in a mesh of {} axes", coordinate.size(),
              dimensions_.size());
  int rank = 0;
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    SHOAL_CHECK(coordinate[i] >= 0 && coordinate[i] < dimensions_[i].size,
                "coordinate {} on axis {} of size {}", coordinate[i],
                axis_name(dimensions_[i].axis), dimensions_[i].size);
    rank += coordinate[i] * strides_[i];
  }
  return rank;
}

int Mesh::coordinate(int rank, Axis axis) const { return position(rank, axis); }

int Mesh::index_within(int rank, AxisSet axes, bool inside) const {
  SHOAL_CHECK(rank >= 0 && rank < num_ranks_, "rank {} in a mesh of {}", rank, num_ranks_);
  int index = 0;
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    if (axes.contains(dimensions_[i].axis) != inside) continue;
    index = index * dimensions_[i].size + rank / strides_[i] % dimensions_[i].size;
  }
  return index;
}

int Mesh::position(int rank, AxisSet axes) const {
  return index_within(rank, axes, /*inside=*/true);
}

int Mesh::group_index(int rank, AxisSet axes) const {
  return index_within(rank, axes, /*inside=*/false);
}

int Mesh::lowest_rank(int group, AxisSet axes) const {
  SHOAL_CHECK(group >= 0 && group < num_groups(axes), "group {} of {}", group, num_groups(axes));
  int rank = 0;
  for (size_t i = dimensions_.size(); i-- > 0;) {
    if (axes.contains(dimensions_[i].axis)) continue;
    rank += group % dimensions_[i].size * strides_[i];
    group /= dimensions_[i].size;
  }
  return rank;
}

std::vector<int> Mesh::peers(int rank, AxisSet axes) const {
  std::vector<int> result = {lowest_rank(group_index(rank, axes), axes)};
  result.reserve(static_cast<size_t>(size(axes)));
  // Each axis, outermost first, multiplies the list: every rank so far is replaced by its row along
  // it.
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    if (!axes.contains(dimensions_[i].axis)) continue;
    std::vector<int> grown;
    grown.reserve(result.capacity());
    for (const int base : result) {
      for (int step = 0; step < dimensions_[i].size; ++step)
        grown.push_back(base + step * strides_[i]);
    }
    result = std::move(grown);
  }
  return result;
}

std::string Mesh::describe() const {
  std::string text;
  for (const auto [axis, size] : dimensions_) {
    if (!text.empty()) text += " x ";
    text += format("{} {}", axis_name(axis), size);
  }
  return text.empty() ? "1 rank"
                      : format("{} = {} rank{}", text, num_ranks_, num_ranks_ == 1 ? "" : "s");
}

}  // namespace shoal::plan
