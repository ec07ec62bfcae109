// input_plan.h -- cuts the input into slices and parts, by names and sizes alone.
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
  // The range: bytes of a text, counted from text_begin, or row groups of a table.
  data::Slice range;
  // The bytes of the file that are the text: all of them, or what a validation tail leaves.
  uint64_t text_begin = 0;
  uint64_t text_end = UINT64_MAX;
  std::optional<data::Split> split;  // absent: decided per document
  // The number of the part that begins with the document which this slice is a part of. Absent: the
  // slice has documents of its own. A document in several slices is judged once, as a whole.
  std::optional<uint64_t> document_part;
  uint64_t bytes = 0;  // approximate; for progress and balance
};

// Whether the slice goes on with a document that began in another part.
inline bool continues(const InputSlice& slice) {
  return slice.document_part && slice.range.begin > 0;
}

struct InputPart {
  std::vector<InputSlice> slices;
  uint64_t bytes = 0;
};

struct InputPlan {
  std::vector<InputFile> files;
  std::vector<InputPart> parts;
  // A text with everything that decides the output: files, sizes, tokenizer, options.
  std::string identity;
};

InputPlan plan_input(const PrepareOptions& options);

// Returns the slice that has all of the document, and counts for no bytes.
InputSlice whole_document(InputSlice slice);

// Returns a reader of the slice. `bytes_done` grows by slice.bytes while the slice is read.
std::unique_ptr<data::DocumentReader> read_slice(const InputPlan& plan,
                                                 const InputSlice& slice,
                                                 const PrepareOptions& options,
                                                 std::atomic<uint64_t>& bytes_done);

}  // namespace shoal::prepare
