// duplicates.h -- which documents are copies of earlier ones, found by their hashes.
//
// First every part's documents are hashed, into a file of 16 bytes per document. Then each rank reads
// the hashes of all parts, as many times as it takes to hold only some of them at once, and marks in
// its own parts every document whose hash an earlier one has. "Earlier" is the order of the input, so
// that all ranks agree without talking.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shoal/core/checksum.h"
#include "shoal/data/documents/document.h"

namespace shoal::prepare {

// Of what a document is judged by: its text, prompt and ids, or the first piece of a long text.
Hash128 hash_of(const data::Document& document);

std::string hashes_file(uint64_t part);  // "part-00012.hashes"

void write_hashes(const std::filesystem::path& directory,
                  uint64_t part,
                  const std::vector<Hash128>& hashes);

// Which documents of a part are left out, by their number.
using Duplicates = std::vector<bool>;

// For each of `own`, from the files of parts 0 up to `parts`, all of which are there.
std::map<uint64_t, Duplicates> find_duplicates(const std::filesystem::path& directory,
                                               uint64_t parts,
                                               const std::vector<uint64_t>& own,
                                               size_t max_bytes = size_t{128} << 20);

}  // namespace shoal::prepare
