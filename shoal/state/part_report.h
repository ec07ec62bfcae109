// part_report.h -- what a rank tells rank 0 about the files it wrote: enough for the manifest, and to see that
// nothing is missing, without a word about single pieces.
//
//   const PartReport report = writer.finish();                 // on every rank
//   const Joined joined = join(reports);                       // on rank 0: DataError when a tensor has a hole
//
// A tensor is described once, by the rank that has its first element. All ranks say of a tensor only how many
// elements they wrote and the sum of their places: when both are what the whole tensor has, no rank was
// forgotten and none wrote what another did, but for holes and overlaps that happen to balance. Whoever reads
// a tensor sees these too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/piece.h"

namespace shoal::state {

// Elements of a tensor: how many, and the sum of their numbers in C order of the tensor, modulo 2^64.
struct Coverage {
  uint64_t elements = 0;
  uint64_t places = 0;

  bool operator==(const Coverage&) const = default;
};

Coverage coverage_of(const Shape& shape, const Box& box);

struct PartReport {
  std::vector<DataFile> files;
  std::vector<TensorSpec> tensors;       // of which this rank has the first element, by name
  std::map<uint64_t, Coverage> written;  // by key_of() the tensor

  // Counts the piece as written.
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
