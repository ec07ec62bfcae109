// mesh.h -- each rank's coordinate in a run, and the ranks it communicates with.
//
// A run is a grid of ranks. Every parallel strategy is one named axis of that grid, and a rank's
// coordinate along the axis says which replica, shard or stage it holds. Axes are listed outermost
// first: neighbours on the last axis have adjacent rank numbers, so the axis that communicates most
// goes last.
//
//   const Mesh mesh({{Axis::kPp, 2}, {Axis::kDpShard, 2}, {Axis::kTp, 2}});
//   mesh.coordinate(5)                       // {1, 0, 1}
//   mesh.peers(5, Axis::kDpShard)            // {5, 7}
//   mesh.peers(5, {Axis::kPp, Axis::kTp})    // {0, 1, 4, 5}: a product of axes is one group too
//
// An axis that is not listed has size 1: every rank is alone on it. A mesh is pure arithmetic: no
// sockets, no torch, no globals; comm/mesh_groups.h turns peers into communicators. It is
// immutable: threads may share it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::plan {

enum class Axis : uint8_t {
  kDpReplicate,  // replicas of the model, with different samples
  kDpShard,      // data-parallel ranks that shard one replica's state
  kCp,           // ranks that split the tokens of a sample
  kPp,           // stages that split the layers
  kTp,           // ranks that split every matrix
  kEp,           // reserved: ranks that split experts; a mesh refuses it today
};

constexpr int kNumAxes = 6;

std::string_view axis_name(Axis axis);  // "dp_replicate", "dp_shard", "cp", "pp", "tp", "ep"

// A set of axes; their product is one group of ranks.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(Axis axis) : bits_(bit(axis)) {}  // NOLINT(google-explicit-constructor)
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (const Axis axis : axes) bits_ = static_cast<uint8_t>(bits_ | bit(axis));
  }

  [[nodiscard]] constexpr bool contains(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  [[nodiscard]] constexpr AxisSet with(Axis axis) const {
    AxisSet result = *this;
    result.bits_ = static_cast<uint8_t>(bits_ | bit(axis));
    return result;
  }
  bool operator==(const AxisSet&) const = default;
  [[nodiscard]] std::string name() const;  // "dp_shard+cp", in the order of enum Axis

 private:
  static constexpr uint8_t bit(Axis axis) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(axis));
  }

  uint8_t bits_ = 0;
};

class Mesh {
 public:
  struct Dimension {
    Axis axis;
    int size;
  };

  // Throws UsageError for a repeated or reserved axis, a size below 1, or more than kMaxRanks
  // ranks.
  explicit Mesh(std::vector<Dimension> dimensions);

  [[nodiscard]] int num_ranks() const { return num_ranks_; }
  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  [[nodiscard]] int size(AxisSet axes) const;  // ranks in one group along these axes
  // Returns those of the axes whose size is above 1.
  [[nodiscard]] AxisSet crowded(AxisSet axes) const;

  // A coordinate has one entry per dimension, in the order they were listed.
  [[nodiscard]] std::vector<int> coordinate(int rank) const;
  [[nodiscard]] int rank_at(const std::vector<int>& coordinate) const;
  [[nodiscard]] int coordinate(int rank, Axis axis) const;

  // Returns the ranks that differ from `rank` only along these axes, itself included, ascending.
  [[nodiscard]] std::vector<int> peers(int rank, AxisSet axes) const;

  // Returns the index of `rank` in peers(rank, axes).
  [[nodiscard]] int position(int rank, AxisSet axes) const;

  // The groups along these axes partition the ranks; they are numbered by their lowest rank.
  [[nodiscard]] int num_groups(AxisSet axes) const { return num_ranks_ / size(axes); }
  [[nodiscard]] int group_index(int rank, AxisSet axes) const;
  [[nodiscard]] int lowest_rank(int group, AxisSet axes) const;

  [[nodiscard]] std::string describe() const;  // "pp 2 x dp_shard 2 x tp 2 = 8 ranks"

 private:
  // Returns the row-major index of the rank's coordinate, over the dimensions inside (or outside)
  // the set.
  [[nodiscard]] int index_within(int rank, AxisSet axes, bool inside) const;

  std::vector<Dimension> dimensions_;
  std::vector<int> strides_;  // distance in ranks between neighbours along each dimension
  int num_ranks_ = 1;
};

}  // namespace shoal::plan
