// table_documents.h -- documents in the rows of Parquet and Arrow files: a column of texts, or of
// lists of ids.
//
// Arrow trusts the data in its files, so every batch is fully validated before it is used.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

struct TableOptions {
  data::TextFields fields;
  data::Slice groups;       // range of the file's groups
  uint32_t vocab_size = 0;  // ids must be below it
};

// Returns the number of row groups of a Parquet file, or record batches of an IPC file; a stream
// counts as one.
uint64_t count_groups(const InputFile& file);

std::unique_ptr<data::DocumentReader> read_table(const InputFile& file,
                                                 const TableOptions& options);

}  // namespace shoal::prepare
