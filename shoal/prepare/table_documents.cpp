#include "shoal/prepare/table_documents.h"

#include <algorithm>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "shoal/prepare/arrow_errors.h"

namespace shoal::prepare {
namespace {

constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kReadAtOnce = 1 << 20;

// One batch after the other, with the wanted columns in the wanted order.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;  // null: no more
};

// Indexes of the columns by name; nested fields of a Parquet file count as several leaves there.
std::vector<int> columns_of(const arrow::Schema& schema,
                            const data::TextFields& fields,
                            const InputFile& file) {
  std::vector<int> columns;
  for (const std::string& name : {fields.text, fields.prompt}) {
    if (name.empty()) continue;
    const int index = schema.GetFieldIndex(name);
    if (index < 0) {
      std::string there;
      for (const auto& field : schema.fields())
        there += (there.empty() ? "" : ", ") + field->name();
      throw DataError(format("{} has no column '{}', or several; it has {}: name one with --fields",
                             file.name, name, there));
    }
    columns.push_back(index);
  }
  return columns;
}

class ParquetBatches : public Batches {
 public:
  ParquetBatches(const InputFile& file, const TableOptions& options)
      : what_(format("reading {}", file.name)), reader_(open(file)) {
    std::shared_ptr<arrow::Schema> schema;
    must(reader_->GetSchema(&schema), what_);
    std::vector<int> groups;
    const uint64_t end =
        std::min<uint64_t>(options.groups.end, static_cast<uint64_t>(reader_->num_row_groups()));
    for (uint64_t group = options.groups.begin; group < end; ++group)
      groups.push_back(static_cast<int>(group));
    names_ = {options.fields.text};
    if (!options.fields.prompt.empty()) names_.push_back(options.fields.prompt);
    columns_of(*schema, options.fields, file);  // complains of what is not there
    batches_ = must(reader_->GetRecordBatchReader(groups, leaves()), what_);
  }

  static std::unique_ptr<parquet::arrow::FileReader> open(const InputFile& file) {
    const std::string what = format("reading {}", file.name);
    parquet::ReaderProperties properties = parquet::default_reader_properties();
    properties.enable_buffered_stream();  // a column is not held whole
    properties.set_buffer_size(kReadAtOnce);
    parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
    arrow_properties.set_batch_size(kRowsAtOnce);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    must(builder.Open(open_input(file), properties), what);
    return must(builder.properties(arrow_properties)->Build(), what);
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    must(batches_->ReadNext(&batch), what_);
    if (!batch) return nullptr;
    arrow::ArrayVector arrays;
    arrow::FieldVector fields;
    for (const std::string& name : names_) {
      const int index = batch->schema()->GetFieldIndex(name);
      arrays.push_back(batch->column(index));
      fields.push_back(batch->schema()->field(index));
    }
    return arrow::RecordBatch::Make(arrow::schema(fields), batch->num_rows(), arrays);
  }

 private:
  // Parquet counts leaves: those whose path begins with a wanted name.
  [[nodiscard]] std::vector<int> leaves() const {
    const auto* schema = reader_->parquet_reader()->metadata()->schema();
    std::vector<int> found;
    for (int leaf = 0; leaf < schema->num_columns(); ++leaf) {
      const std::string& root = schema->GetColumnRoot(leaf)->name();
      if (std::find(names_.begin(), names_.end(), root) != names_.end()) found.push_back(leaf);
    }
    return found;
  }

  std::string what_;
  std::vector<std::string> names_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

bool is_ipc_file(arrow::io::RandomAccessFile& file, const std::string& what) {
  char magic[6] = {};
  const int64_t got = must(file.ReadAt(0, sizeof magic, magic), what);
  return std::string_view(magic, static_cast<size_t>(got)) == "ARROW1";
}

class IpcBatches : public Batches {
 public:
  IpcBatches(const InputFile& file, const TableOptions& options)
      : what_(format("reading {}", file.name)),
        next_(options.groups.begin),
        end_(options.groups.end) {
    const auto input = open_input(file);
    std::shared_ptr<arrow::Schema> schema;
    if (is_ipc_file(*input, what_)) {
      file_ = must(arrow::ipc::RecordBatchFileReader::Open(input, quietly()), what_);
      schema = file_->schema();
      end_ = std::min<uint64_t>(end_, static_cast<uint64_t>(file_->num_record_batches()));
    } else {
      must(input->Seek(0), what_);
      stream_ = must(arrow::ipc::RecordBatchStreamReader::Open(input, quietly()), what_);
      schema = stream_->schema();
    }
    columns_ = columns_of(*schema, options.fields, file);
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (file_) {
      if (next_ >= end_) return nullptr;
      batch = must(file_->ReadRecordBatch(static_cast<int>(next_++)), what_);
    } else {
      must(stream_->ReadNext(&batch), what_);
      if (!batch) return nullptr;
    }
    return must(batch->SelectColumns(columns_), what_);
  }

 private:
  static arrow::ipc::IpcReadOptions quietly() {
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.use_threads = false;
    options.max_recursion_depth = 8;
    return options;
  }

  std::string what_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;  // one of these two
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;
  std::vector<int> columns_;
  uint64_t next_;
  uint64_t end_;
};

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
  TableDocuments(const InputFile& file, const TableOptions& options)
      : name_(file.name), fields_(options.fields), vocab_size_(options.vocab_size) {
    if (file.kind == InputKind::kParquet) {
      batches_ = std::make_unique<ParquetBatches>(file, options);
    } else {
      batches_ = std::make_unique<IpcBatches>(file, options);
    }
  }

  bool next(data::Document& document) override {
    while (true) {
      if (!batch_ || row_ == batch_->num_rows()) {
        batch_ = batches_->next();
        row_ = 0;
        if (!batch_) return false;
        must(batch_->ValidateFull(), format("reading {}", name_));
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
    ids_.clear();
    trained_on_.clear();
    if (!fields_.prompt.empty()) add_ids(1, fields_.prompt, row);
    const size_t prompt = ids_.size();
    add_ids(0, fields_.text, row);
    if (ids_.size() == prompt) return {};
    if (prompt > 0) {
      trained_on_.assign(ids_.size(), 1);
      std::fill_n(trained_on_.begin(), prompt, uint8_t{0});
    }
    return {.ids = ids_, .trained_on = trained_on_};
  }

  std::string_view prompt_at(int64_t row) const {
    if (fields_.prompt.empty()) return {};
    const arrow::Array& column = *batch_->column(1);
    if (!is_text(column.type_id()))
      refuse(fields_.prompt, *column.type(), format("texts, as '{}' does", fields_.text));
    return column.IsNull(row) ? std::string_view() : text_at(column, row);
  }

  void add_ids(int column_index, const std::string& field, int64_t row) {
    const arrow::Array& column = *batch_->column(column_index);
    if (column.type_id() == arrow::Type::LIST) {
      add_list(static_cast<const arrow::ListArray&>(column), field, row);
    } else if (column.type_id() == arrow::Type::LARGE_LIST) {
      add_list(static_cast<const arrow::LargeListArray&>(column), field, row);
    } else {
      refuse(field, *column.type(),
             column_index == 0 ? "texts or lists of ids"
                               : format("lists of ids, as '{}' does", fields_.text));
    }
  }

  template <class List>
  void add_list(const List& column, const std::string& field, int64_t row) {
    if (column.IsNull(row)) return;
    const arrow::Array& values = *column.values();
    const int64_t first = column.value_offset(row);
    const int64_t end = first + column.value_length(row);
    switch (values.type_id()) {
      case arrow::Type::UINT8:
        return copy_ids<arrow::UInt8Array>(values, first, end, field);
      case arrow::Type::UINT16:
        return copy_ids<arrow::UInt16Array>(values, first, end, field);
      case arrow::Type::INT16:
        return copy_ids<arrow::Int16Array>(values, first, end, field);
      case arrow::Type::UINT32:
        return copy_ids<arrow::UInt32Array>(values, first, end, field);
      case arrow::Type::INT32:
        return copy_ids<arrow::Int32Array>(values, first, end, field);
      case arrow::Type::UINT64:
        return copy_ids<arrow::UInt64Array>(values, first, end, field);
      case arrow::Type::INT64:
        return copy_ids<arrow::Int64Array>(values, first, end, field);
      default:
        refuse(field, *column.type(), "texts or lists of ids");
    }
  }

  template <class Values>
  void copy_ids(const arrow::Array& values, int64_t first, int64_t end, const std::string& field) {
    const auto& numbers = static_cast<const Values&>(values);
    for (int64_t at = first; at < end; ++at) {
      // A negative number is a huge one.
      const auto id = static_cast<uint64_t>(numbers.Value(at));
      if (id >= vocab_size_ || numbers.IsNull(at))
        throw DataError(
            format("{}: a list in '{}' holds an id that is not below the vocabulary's {}", name_,
                   field, vocab_size_));
      ids_.push_back(static_cast<data::TokenId>(id));
    }
  }

  [[noreturn]] void refuse(const std::string& field,
                           const arrow::DataType& type,
                           const std::string& wanted) const {
    throw DataError(
        format("{}: column '{}' is {}, but must hold {}", name_, field, type.ToString(), wanted));
  }

  std::string name_;
  data::TextFields fields_;
  uint32_t vocab_size_;
  std::unique_ptr<Batches> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;
  std::vector<data::TokenId> ids_;
  std::vector<uint8_t> trained_on_;
};

}  // namespace

uint64_t count_groups(const InputFile& file) {
  if (file.kind == InputKind::kParquet)
    return static_cast<uint64_t>(ParquetBatches::open(file)->num_row_groups());
  const std::string what = format("reading {}", file.name);
  const auto input = open_input(file);
  if (!is_ipc_file(*input, what)) return 1;
  const auto reader = must(arrow::ipc::RecordBatchFileReader::Open(input), what);
  return static_cast<uint64_t>(reader->num_record_batches());
}

std::unique_ptr<data::DocumentReader> read_table(const InputFile& file,
                                                 const TableOptions& options) {
  return std::make_unique<TableDocuments>(file, options);
}

}  // namespace shoal::prepare
