// duplicates.h -- finds documents that are copies of earlier ones, by their hashes.
//
// First the documents of every part are hashed, into a file of 16 bytes per document. Then each
// rank reads the hashes of all parts, as many times as needed to hold only some of them at once,
// and marks in the parts it needs every document whose hash an earlier one has. "Earlier" is the order
// of the input, so that all ranks agree without communication.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shoal/core/checksum.h"

namespace shoal::prepare {

std::string hashes_file(uint64_t part);  // "part-00012.hashes"

void write_hashes(const std::filesystem::path& directory,
                  uint64_t part,
                  const std::vector<Hash128>& hashes);

// Which documents of a part are left out, by their number.
using Duplicates = std::vector<bool>;
using DuplicatesByPart = std::map<uint64_t, Duplicates>;

// Returns the duplicates of each part in `wanted`, from the files of parts 0 up to `parts`, all of
// which must exist.
DuplicatesByPart find_duplicates(const std::filesystem::path& directory,
                                 uint64_t parts,
                                 const std::vector<uint64_t>& wanted,
                                 size_t max_bytes = size_t{128} << 20);

}  // namespace shoal::prepare
