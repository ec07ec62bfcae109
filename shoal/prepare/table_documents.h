// table_documents.h -- documents in the rows of Parquet and Arrow files: a column of texts, or of lists
// of ids.
//
// Arrow takes the data in its files for valid: every batch is fully validated before it is touched.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

struct TableOptions {
  data::TextFields fields;
  data::Slice groups;       // which of the file's groups
  uint32_t vocab_size = 0;  // ids are below
};

// Row groups of a Parquet file, record batches of an IPC file; a stream is read as one.
uint64_t count_groups(const InputFile& file);

std::unique_ptr<data::DocumentReader> read_table(const InputFile& file,
                                                 const TableOptions& options);

}  // namespace shoal::prepare
