// shard_documents.h -- the documents of a token shard (shard_writer.h), as they were before they were
// written: whole, without the mark behind them, and with their loss mask. Private to
// table_documents.
#pragma once

#include <memory>

#include "shoal/prepare/table_batches.h"
#include "shoal/prepare/table_documents.h"

namespace shoal::prepare {

// Returns whether a table is a token shard of which `fields` names the ids.
bool is_token_shard(const arrow::Schema& schema, const data::TextFields& fields);

// A document belongs to the slice it begins in. A row is a piece. Throws DataError for ids of
// another tokenizer, and for fields that leave out the loss mask.
std::unique_ptr<data::DocumentReader> read_shard(std::unique_ptr<TableBatches> batches,
                                                 const InputFile& file,
                                                 const TableOptions& options);

}  // namespace shoal::prepare
