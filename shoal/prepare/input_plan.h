// input_plan.h -- the input cut into slices and parts, by names and sizes alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"
#include "shoal/prepare/prepare.h"

namespace shoal::prepare {

struct InputSlice {
  size_t file = 0;
  // Bytes of a text, counted from text_begin; row groups of a table.
  data::Slice range;
  // The text is these bytes of the file: all of them, or what a tail leaves.
  uint64_t text_begin = 0;
  uint64_t text_end = UINT64_MAX;
  std::optional<data::Split> split;  // nothing: by document
  uint64_t bytes = 0;                // about; for progress and balance
};

struct InputPart {
  std::vector<InputSlice> slices;
  uint64_t bytes = 0;
};

struct InputPlan {
  std::vector<InputFile> files;
  std::vector<InputPart> parts;
  // One text for all that decides the output: files, sizes, tokenizer, options.
  std::string identity;
};

InputPlan plan_input(const PrepareOptions& options);

// `bytes_done` grows as the slice is read, to slice.bytes when it has been.
std::unique_ptr<data::DocumentReader> read_slice(const InputPlan& plan,
                                                 const InputSlice& slice,
                                                 const PrepareOptions& options,
                                                 std::atomic<uint64_t>& bytes_done);

}  // namespace shoal::prepare
