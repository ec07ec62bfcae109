#include "shoal/prepare/table_batches.h"

#include <algorithm>

#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "shoal/prepare/arrow_errors.h"

namespace shoal::prepare {
namespace {

constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kReadAtOnce = 1 << 20;

class ParquetBatches : public TableBatches {
 public:
  explicit ParquetBatches(const InputFile& file) : TableBatches(file), reader_(open(file)) {
    must(reader_->GetSchema(&schema_), what_);
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

 private:
  void start(data::Slice groups) override {
    std::vector<int> numbers;
    const uint64_t end =
        std::min<uint64_t>(groups.end, static_cast<uint64_t>(reader_->num_row_groups()));
    for (uint64_t group = groups.begin; group < end; ++group)
      numbers.push_back(static_cast<int>(group));
    batches_ = must(reader_->GetRecordBatchReader(numbers, leaves()), what_);
  }

  std::shared_ptr<arrow::RecordBatch> read() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    must(batches_->ReadNext(&batch), what_);
    return batch;
  }

  // Parquet counts leaves: those whose path begins with a wanted name.
  [[nodiscard]] std::vector<int> leaves() const {
    const auto* schema = reader_->parquet_reader()->metadata()->schema();
    std::vector<int> found;
    for (int leaf = 0; leaf < schema->num_columns(); ++leaf) {
      const std::string& root = schema->GetColumnRoot(leaf)->name();
      if (std::find(columns_.begin(), columns_.end(), root) != columns_.end())
        found.push_back(leaf);
    }
    return found;
  }

  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

bool is_ipc_file(arrow::io::RandomAccessFile& file, const std::string& what) {
  char magic[6] = {};
  const int64_t got = must(file.ReadAt(0, sizeof magic, magic), what);
  return std::string_view(magic, static_cast<size_t>(got)) == "ARROW1";
}

class IpcBatches : public TableBatches {
 public:
  explicit IpcBatches(const InputFile& file) : TableBatches(file) {
    const auto input = open_input(file);
    if (is_ipc_file(*input, what_)) {
      file_ = must(arrow::ipc::RecordBatchFileReader::Open(input, quietly()), what_);
      schema_ = file_->schema();
    } else {
      must(input->Seek(0), what_);
      stream_ = must(arrow::ipc::RecordBatchStreamReader::Open(input, quietly()), what_);
      schema_ = stream_->schema();
    }
  }

 private:
  static arrow::ipc::IpcReadOptions quietly() {
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.use_threads = false;
    options.max_recursion_depth = 8;
    return options;
  }

  void start(data::Slice groups) override { groups_ = groups; }

  std::shared_ptr<arrow::RecordBatch> read() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (stream_) {
      must(stream_->ReadNext(&batch), what_);
    } else if (groups_.begin < std::min<uint64_t>(groups_.end, static_cast<uint64_t>(
                                                                   file_->num_record_batches()))) {
      batch = must(file_->ReadRecordBatch(static_cast<int>(groups_.begin++)), what_);
    }
    return batch;
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;  // one of these two
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;
  data::Slice groups_;  // those not read yet
};

}  // namespace

TableBatches::TableBatches(const InputFile& file)
    : name_(file.name), what_(format("reading {}", file.name)) {}

void TableBatches::select(const std::vector<std::string>& columns, data::Slice groups) {
  for (const std::string& column : columns) {
    if (schema_->GetFieldIndex(column) >= 0) continue;
    std::string there;
    for (const auto& field : schema_->fields())
      there += (there.empty() ? "" : ", ") + field->name();
    throw DataError(format("{} has no column '{}', or several; it has {}: name one with --fields",
                           name_, column, there));
  }
  columns_ = columns;
  start(groups);
}

std::shared_ptr<arrow::RecordBatch> TableBatches::next() {
  const auto batch = read();
  if (!batch) return nullptr;
  std::vector<int> indexes;
  for (const std::string& column : columns_)
    indexes.push_back(batch->schema()->GetFieldIndex(column));
  auto wanted = must(batch->SelectColumns(indexes), what_);
  must(wanted->ValidateFull(), what_);
  return wanted;
}

std::unique_ptr<TableBatches> open_table(const InputFile& file) {
  if (file.kind == InputKind::kParquet) return std::make_unique<ParquetBatches>(file);
  return std::make_unique<IpcBatches>(file);
}

uint64_t count_groups(const InputFile& file) {
  if (file.kind == InputKind::kParquet)
    return static_cast<uint64_t>(ParquetBatches::open(file)->num_row_groups());
  const std::string what = format("reading {}", file.name);
  const auto input = open_input(file);
  if (!is_ipc_file(*input, what)) return 1;
  const auto reader = must(arrow::ipc::RecordBatchFileReader::Open(input), what);
  return static_cast<uint64_t>(reader->num_record_batches());
}

}  // namespace shoal::prepare
