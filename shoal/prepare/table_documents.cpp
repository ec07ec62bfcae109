#include "shoal/prepare/table_documents.h"

#include <arrow/array/array_binary.h>

#include "shoal/core/error.h"
#include "shoal/prepare/shard_documents.h"
#include "shoal/prepare/table_batches.h"
#include "shoal/prepare/token_rows.h"

namespace shoal::prepare {
namespace {

bool is_text(arrow::Type::type type) {
  return type == arrow::Type::STRING || type == arrow::Type::LARGE_STRING ||
         type == arrow::Type::BINARY || type == arrow::Type::LARGE_BINARY ||
         type == arrow::Type::STRING_VIEW || type == arrow::Type::BINARY_VIEW;
}

std::string_view text_at(const arrow::Array& column, int64_t row) {
  switch (column.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(column).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(column).GetView(row);
    default:
      return static_cast<const arrow::BinaryViewArray&>(column).GetView(row);
  }
}

class TableDocuments : public data::DocumentReader {
 public:
  TableDocuments(std::unique_ptr<TableBatches> batches,
                 const std::string& name,
                 const TableOptions& options)
      : name_(name),
        fields_(options.fields),
        batches_(std::move(batches)),
        rows_(name, options.fields, options.vocab_size) {
    std::vector<std::string> columns = {fields_.text};
    if (!fields_.prompt.empty()) columns.push_back(fields_.prompt);
    batches_->select(columns, options.groups);
  }

  bool next(data::Document& document) override {
    while (true) {
      if (!batch_ || row_ == batch_->num_rows()) {
        batch_ = batches_->next();
        row_ = 0;
        if (!batch_) return false;
        continue;
      }
      document = take_row(row_++);
      if (!document.text.empty() || !document.ids.empty()) return true;
    }
  }

 private:
  data::Document take_row(int64_t row) {
    const arrow::Array& column = *batch_->column(0);
    if (column.IsNull(row)) return {};
    if (is_text(column.type_id())) return {.text = text_at(column, row), .prompt = prompt_at(row)};
    if (!rows_.read(*batch_, row)) return {};
    return {.ids = rows_.ids(), .trained_on = rows_.trained_on()};
  }

  [[nodiscard]] std::string_view prompt_at(int64_t row) const {
    if (fields_.prompt.empty()) return {};
    const arrow::Array& column = *batch_->column(1);
    if (!is_text(column.type_id()))
      refuse_column(name_, fields_.prompt, *column.type(),
                    format("texts, as '{}' does", fields_.text));
    return column.IsNull(row) ? std::string_view() : text_at(column, row);
  }

  const std::string name_;
  const data::TextFields fields_;
  std::unique_ptr<TableBatches> batches_;
  TokenRows rows_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<data::DocumentReader> read_table(const InputFile& file,
                                                 const TableOptions& options) {
  auto batches = open_table(file);
  if (is_token_shard(batches->schema(), options.fields))
    return read_shard(std::move(batches), file, options);
  return std::make_unique<TableDocuments>(std::move(batches), file.name, options);
}

}  // namespace shoal::prepare
