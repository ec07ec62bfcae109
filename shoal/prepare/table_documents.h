// table_documents.h -- documents in the rows of Parquet and Arrow files: a column of texts, or of
// lists of ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

struct TableOptions {
  data::TextFields fields;
  data::Slice groups;       // range of the file's groups
  uint32_t vocab_size = 0;  // ids must be below it
  std::string tokenizer;    // its hash: token shards of another one are refused
  // The id that the writer of the documents puts behind each. Without it the one that is in token
  // shards stays part of their documents.
  std::optional<data::TokenId> end_of_document;
};

// Token shards (shard_writer.h) give the documents that they were written from: rows that continue
// one are joined to it, and the mark behind it is left out.
std::unique_ptr<data::DocumentReader> read_table(const InputFile& file,
                                                 const TableOptions& options);

}  // namespace shoal::prepare
