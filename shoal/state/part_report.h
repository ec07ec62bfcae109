// part_report.h -- what a rank reports to rank 0 about the files it wrote: enough for the manifest,
// and to see that nothing is missing, without listing pieces.
//
//   const PartReport report = writer.finish();                 // on every rank
//   const Joined joined = join(reports);                       // on rank 0: DataError when a tensor has a hole
//
// A tensor is described once, by the rank that has its first element. Each rank reports of a tensor
// only how many elements it wrote and the sum of their places: when both match the whole tensor, no
// rank was forgotten and none wrote what another did, except for holes and overlaps that happen to
// balance. Reading a tensor detects these too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/piece.h"

namespace shoal::state {

// The coverage of a tensor: the number of elements, and the sum of their indices in C order of the
// tensor, modulo 2^64.
struct Coverage {
  uint64_t elements = 0;
  uint64_t places = 0;

  bool operator==(const Coverage&) const = default;
};

Coverage coverage_of(const Shape& shape, const Box& box);

struct PartReport {
  std::vector<DataFile> files;
  std::vector<TensorSpec> tensors;       // those whose first element this rank has, by name
  std::map<uint64_t, Coverage> written;  // by key_of() of the tensor

  // Adds a piece to the coverage.
  void add(const PieceSpec& piece);

  bool operator==(const PartReport&) const = default;
};

uint64_t key_of(const TensorSpec& tensor);

std::string to_json(const PartReport& report);
PartReport part_report_from_json(std::string_view json, const std::string& name);

struct Joined {
  std::vector<DataFile> files;
  std::vector<TensorSpec> tensors;  // by name
};

Joined join(const std::vector<PartReport>& reports);

}  // namespace shoal::state
