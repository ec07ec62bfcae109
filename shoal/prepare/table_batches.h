// table_batches.h -- the rows of Parquet and Arrow files, some at a time. Private to prepare/.
//
// Arrow trusts the data in its files, so every batch is fully validated before it is handed out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

class TableBatches {
 public:
  explicit TableBatches(const InputFile& file);
  virtual ~TableBatches() = default;

  // The columns and the metadata of the whole file.
  [[nodiscard]] const arrow::Schema& schema() const { return *schema_; }

  // Says what next() returns: these columns in this order, of a range of the file's groups. Once,
  // and first. Throws DataError for a column that is not there.
  void select(const std::vector<std::string>& columns, data::Slice groups);

  // Returns the next rows; null: no more. A record batch of an IPC file is a group and comes whole.
  std::shared_ptr<arrow::RecordBatch> next();

 protected:
  virtual void start(data::Slice groups) = 0;
  virtual std::shared_ptr<arrow::RecordBatch> read() = 0;  // at least the wanted columns

  std::string name_;
  std::string what_;  // is done, for errors
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::string> columns_;
};

std::unique_ptr<TableBatches> open_table(const InputFile& file);

// Returns the number of row groups of a Parquet file, or record batches of an IPC file; a stream
// counts as one.
uint64_t count_groups(const InputFile& file);

}  // namespace shoal::prepare
