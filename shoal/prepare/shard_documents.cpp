#include "shoal/prepare/shard_documents.h"

#include <arrow/array/array_primitive.h>
#include <arrow/util/key_value_metadata.h>

#include "shoal/core/error.h"
#include "shoal/core/number_in.h"
#include "shoal/prepare/token_rows.h"

namespace shoal::prepare {
namespace {

constexpr const char* kIds = "input_ids";
constexpr const char* kMask = "loss_mask";
constexpr const char* kContinues = "continues";

std::optional<std::string> metadata_of(const arrow::Schema& schema, const std::string& key) {
  if (!schema.HasMetadata()) return std::nullopt;
  const int index = schema.metadata()->FindKey(key);
  if (index < 0) return std::nullopt;
  return schema.metadata()->value(index);
}

std::optional<data::TokenId> mark_of(const arrow::Schema& schema, const std::string& name) {
  const auto text = metadata_of(schema, "shoal.end_of_document");
  if (!text) return std::nullopt;
  const auto id = number_in<data::TokenId>(*text);
  if (!id)
    throw DataError(format("{}: shoal.end_of_document is '{}', which is no id", name, *text));
  return id;
}

bool holds_flags(const arrow::DataType& type) {
  const bool is_list = type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST;
  return is_list && type.field(0)->type()->id() == arrow::Type::BOOL;
}

class ShardDocuments : public data::DocumentReader {
 public:
  ShardDocuments(std::unique_ptr<TableBatches> batches,
                 const std::string& name,
                 const TableOptions& options)
      : name_(name),
        mark_(mark_of(batches->schema(), name)),
        leaves_out_mark_(options.end_of_document.has_value()),
        groups_left_(options.groups.end - options.groups.begin),
        batches_(std::move(batches)),
        rows_(name, options.fields, options.vocab_size) {
    std::vector<std::string> columns = {kIds};
    if (!options.fields.prompt.empty()) columns.push_back(options.fields.prompt);
    columns.emplace_back(kContinues);
    // Also what is behind the slice, where its last document may go on.
    batches_->select(columns, {.begin = options.groups.begin});
    to_row(0);
    // What goes on here from the groups before is in the slice that has its beginning.
    while (options.groups.begin > 0 && batch_ && continues()) to_row(row_ + 1);
  }

  bool next(data::Document& document) override {
    while (batch_) {
      const bool begins = begins_;
      if (begins && is_behind_slice_) return false;
      rows_.read(*batch_, row_);
      to_row(row_ + 1);
      begins_ = !batch_ || !continues();
      const bool marked = begins_ && !rows_.ids().empty() && rows_.ids().back() == mark_;
      const size_t count = rows_.ids().size() - (marked && leaves_out_mark_ ? 1 : 0);
      if (begins && begins_ && count == 0) continue;  // all of it was the mark
      // A document that the end of its shard cuts off goes on in the next shard.
      const bool cut_off = !batch_ && mark_ && !marked;
      document = {.ids = rows_.ids().first(count),
                  .trained_on = rows_.trained_on().first(rows_.trained_on().empty() ? 0 : count),
                  .begins = begins,
                  .ends = begins_ && !cut_off};
      return true;
    }
    return false;
  }

 private:
  // Moves to a row of the batch, or the first one behind it; no batch is left at the end.
  void to_row(int64_t row) {
    row_ = row;
    while (!batch_ || row_ == batch_->num_rows()) {
      is_behind_slice_ = groups_left_ == 0;
      if (groups_left_ > 0) --groups_left_;
      batch_ = batches_->next();
      row_ = 0;
      if (!batch_) return;
      const arrow::Array& flags = *batch_->column(batch_->num_columns() - 1);
      if (flags.type_id() != arrow::Type::BOOL || flags.null_count() > 0)
        throw DataError(format("{}: column '{}' must hold booleans alone", name_, kContinues));
    }
  }

  [[nodiscard]] bool continues() const {
    const auto& flags = *batch_->column(batch_->num_columns() - 1);
    return static_cast<const arrow::BooleanArray&>(flags).Value(row_);
  }

  const std::string name_;
  const std::optional<data::TokenId> mark_;  // behind each document of the shard
  const bool leaves_out_mark_;
  uint64_t groups_left_;  // of the slice, which have not been read
  std::unique_ptr<TableBatches> batches_;
  TokenRows rows_;
  std::shared_ptr<arrow::RecordBatch> batch_;  // of the next row
  int64_t row_ = 0;
  bool is_behind_slice_ = false;  // the next row
  bool begins_ = true;            // a document, in the next row
};

}  // namespace

bool is_token_shard(const arrow::Schema& schema, const data::TextFields& fields) {
  return metadata_of(schema, "shoal.tokenizer").has_value() && fields.text == kIds;
}

std::unique_ptr<data::DocumentReader> read_shard(std::unique_ptr<TableBatches> batches,
                                                 const InputFile& file,
                                                 const TableOptions& options) {
  const arrow::Schema& schema = batches->schema();
  if (file.kind != InputKind::kArrow) {
    throw DataError(
        format("{} holds tokens of a shard that shoal prepare wrote: give the .arrow file itself",
               file.name));
  }
  if (metadata_of(schema, "shoal.tokenizer") != options.tokenizer) {
    throw DataError(
        format("{} was prepared with another tokenizer than --tokenizer: its ids do not mean the "
               "same; prepare it from its texts",
               file.name));
  }
  const std::shared_ptr<arrow::Field> mask = schema.GetFieldByName(kMask);
  if (mask && !holds_flags(*mask->type()))
    refuse_column(file.name, kMask, *mask->type(), "lists of booleans");
  if (options.fields.prompt != (mask ? kMask : "")) {
    throw DataError(format("{} is a token shard {} a loss mask: read it with --fields {}{}",
                           file.name, mask ? "with" : "without", mask ? "loss_mask," : "", kIds));
  }
  return std::make_unique<ShardDocuments>(std::move(batches), file.name, options);
}

}  // namespace shoal::prepare
