// token_rows.h -- lists of ids in a row of a table, and which of them are trained on. Private to
// prepare/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "shoal/data/documents/document.h"

namespace shoal::prepare {

// Throws DataError: `file` has a column of this type where `wanted` belongs.
[[noreturn]] void refuse_column(const std::string& file,
                                const std::string& field,
                                const arrow::DataType& type,
                                const std::string& wanted);

class TokenRows {
 public:
  TokenRows(std::string file, data::TextFields fields, uint32_t vocab_size)
      : file_(std::move(file)), fields_(std::move(fields)), vocab_size_(vocab_size) {}

  // Reads a row of a batch whose first column is fields.text, and whose second is fields.prompt if
  // there is one. A prompt of ids precedes those of the text and is masked; lists of booleans say
  // of each id of the text whether it is trained on. Returns whether the text has any ids.
  bool read(const arrow::RecordBatch& batch, int64_t row);

  // As in Document, of the row that was read last.
  [[nodiscard]] std::span<const data::TokenId> ids() const { return ids_; }
  [[nodiscard]] std::span<const uint8_t> trained_on() const { return trained_on_; }

 private:
  void add_ids(const arrow::Array& column,
               int64_t row,
               const std::string& field,
               const std::string& wanted);
  template <class Values>
  void add_numbers(const arrow::Array& values,
                   int64_t first,
                   int64_t end,
                   const std::string& field);
  bool add_flags(const arrow::Array& column, int64_t row);

  const std::string file_;
  const data::TextFields fields_;
  const uint32_t vocab_size_;
  std::vector<data::TokenId> ids_;
  std::vector<uint8_t> trained_on_;
};

}  // namespace shoal::prepare
