// part_writer.h -- processes one part of the input: reads, judges, encodes and writes its
// documents.
#pragma once

#include <vector>

#include "shoal/core/checksum.h"
#include "shoal/data/shards/manifest.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/prepare/duplicates.h"
#include "shoal/prepare/input_plan.h"

namespace shoal::prepare {

data::TokenLayout layout_of(const PrepareOptions& options);

// Returns the hash of every document that begins in the part, in order.
std::vector<Hash128> hash_part(const InputPlan& plan,
                               uint64_t number,
                               const PrepareOptions& options,
                               Progress& progress);

// Writes the shards without the `duplicates`, which have to be those of this part and of those that
// begin with a document which goes on in it. The caller writes the part's own file.
data::PreparedPart write_part(const InputPlan& plan,
                              uint64_t number,
                              const PrepareOptions& options,
                              const DuplicatesByPart& duplicates,
                              data::Encoder& encoder,
                              Progress& progress);

}  // namespace shoal::prepare
