#include "shoal/prepare/shard_writer.h"

#include <algorithm>

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "shoal/core/checksum.h"
#include "shoal/core/files.h"
#include "shoal/data/order/packing.h"
#include "shoal/prepare/arrow_errors.h"

namespace shoal::prepare {
namespace {

namespace fs = std::filesystem;
using arrow::ArrayData;
using arrow::Buffer;

std::shared_ptr<arrow::DataType> list_of(const std::shared_ptr<arrow::DataType>& item) {
  return arrow::list(arrow::field("item", item, /*nullable=*/false));
}

std::shared_ptr<arrow::Schema> schema_of(const data::TokenLayout& layout) {
  const auto token = layout.token_bytes() == 2 ? arrow::uint16() : arrow::uint32();
  arrow::FieldVector fields = {arrow::field("input_ids", list_of(token), false),
                               arrow::field("continues", arrow::boolean(), false)};
  if (layout.loss_mask)
    fields.push_back(arrow::field("loss_mask", list_of(arrow::boolean()), false));
  std::vector<std::string> keys = {"shoal.tokenizer", "shoal.vocab_size"};
  std::vector<std::string> values = {layout.tokenizer, format("{}", layout.vocab_size)};
  if (layout.end_of_document) {
    keys.emplace_back("shoal.end_of_document");
    values.push_back(format("{}", *layout.end_of_document));
  }
  return arrow::schema(fields, arrow::key_value_metadata(keys, values));
}

void set_bits(std::vector<uint8_t>& bits, size_t first, size_t count, bool value) {
  bits.resize((first + count + 7) / 8);
  if (!value) return;
  for (size_t bit = first; bit < first + count; ++bit)
    bits[bit / 8] = static_cast<uint8_t>(bits[bit / 8] | (1U << (bit % 8)));
}

// Where the parts of a record batch are in the file that is mapped from `start`.
data::Block block_of(const arrow::RecordBatch& batch, const uint8_t* start) {
  data::Block block;
  const auto place = [&](const std::shared_ptr<Buffer>& buffer) {
    return static_cast<uint64_t>(buffer->data() - start);
  };
  const std::shared_ptr<ArrayData> ids = batch.column_data(0);
  const std::shared_ptr<ArrayData> continues = batch.column_data(1);
  block.rows = static_cast<uint32_t>(batch.num_rows());
  block.ends_at = place(ids->buffers[1]);
  block.tokens_at = place(ids->child_data[0]->buffers[1]);
  block.tokens = static_cast<uint32_t>(ids->child_data[0]->length);
  block.continues = (continues->buffers[1]->data()[0] & 1U) != 0;
  uint64_t end =
      place(continues->buffers[1]) + static_cast<uint64_t>(continues->buffers[1]->size());
  if (batch.num_columns() > 2) {
    const std::shared_ptr<Buffer> mask = batch.column_data(2)->child_data[0]->buffers[1];
    block.mask_at = place(mask);
    end = block.mask_at + static_cast<uint64_t>(mask->size());
  }
  block.at = block.ends_at;  // the first buffer of the first column that has any bytes
  block.bytes = end - block.at;
  block.crc32c = crc32c({reinterpret_cast<const char*>(start + block.at), block.bytes});
  return block;
}

}  // namespace

// The rows that wait to be written. Buffers keep their size from block to block.
class ShardWriter::Rows {
 public:
  explicit Rows(const data::TokenLayout& layout) : layout_(layout) { clear(); }

  void add(std::span<const data::TokenId> ids, bool trained_on) {
    if (layout_.token_bytes() == 2) {
      const size_t before = narrow_.size();
      narrow_.resize(before + ids.size());
      std::transform(ids.begin(), ids.end(), narrow_.begin() + static_cast<ptrdiff_t>(before),
                     [](data::TokenId id) { return static_cast<uint16_t>(id); });
    } else {
      wide_.insert(wide_.end(), ids.begin(), ids.end());
    }
    if (layout_.loss_mask) set_bits(mask_, tokens_, ids.size(), trained_on);
    tokens_ += ids.size();
  }

  void end_row(bool continued) {
    if (open_tokens() == 0) return;
    set_bits(continues_, rows(), 1, continued);
    ends_.push_back(static_cast<int32_t>(tokens_));
  }

  [[nodiscard]] size_t rows() const { return ends_.size() - 1; }
  [[nodiscard]] size_t tokens() const { return tokens_; }
  [[nodiscard]] size_t open_tokens() const { return tokens_ - static_cast<size_t>(ends_.back()); }

  [[nodiscard]] std::shared_ptr<arrow::RecordBatch> batch(
      const std::shared_ptr<arrow::Schema>& schema) const {
    const auto count = static_cast<int64_t>(rows());
    const auto list = [&](int column, const std::shared_ptr<Buffer>& values) {
      const auto& type = schema->field(column)->type();
      const auto items = ArrayData::Make(type->field(0)->type(), static_cast<int64_t>(tokens_),
                                         {nullptr, values}, 0);
      return arrow::MakeArray(
          ArrayData::Make(type, count, {nullptr, Buffer::Wrap(ends_)}, {items}, 0));
    };
    arrow::ArrayVector columns = {
        list(0, layout_.token_bytes() == 2 ? Buffer::Wrap(narrow_) : Buffer::Wrap(wide_)),
        arrow::MakeArray(
            ArrayData::Make(arrow::boolean(), count, {nullptr, Buffer::Wrap(continues_)}, 0))};
    if (layout_.loss_mask) columns.push_back(list(2, Buffer::Wrap(mask_)));
    return arrow::RecordBatch::Make(schema, count, std::move(columns));
  }

  void clear() {
    narrow_.clear();
    wide_.clear();
    mask_.clear();
    continues_.clear();
    ends_.assign(1, 0);
    tokens_ = 0;
  }

 private:
  const data::TokenLayout layout_;
  std::vector<uint16_t> narrow_;  // one of these two holds the ids
  std::vector<uint32_t> wide_;
  std::vector<uint8_t> mask_;
  std::vector<uint8_t> continues_;
  std::vector<int32_t> ends_;
  size_t tokens_ = 0;
};

class ShardWriter::File {
 public:
  File(const fs::path& path, const data::TokenLayout& layout)
      : path_(path),
        written_(create_file_beside(path)),
        what_(format("writing {}", written_.path.string())),
        schema_(schema_of(layout)) {
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.alignment = 64;
    sink_ = must(arrow::io::FileOutputStream::Open(written_.fd.release()), what_);
    writer_ = must(arrow::ipc::MakeFileWriter(sink_, schema_, options), what_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  ~File() {
    std::error_code ignored;
    if (!published_) fs::remove(written_.path, ignored);
  }

  void write(const Rows& rows) { must(writer_->WriteRecordBatch(*rows.batch(schema_)), what_); }

  void publish() {
    must(writer_->Close(), what_);
    must(sink_->Close(), what_);
    publish_file(written_.path, path_);
    published_ = true;
  }

 private:
  const fs::path path_;
  FileBeside written_;
  const std::string what_;
  bool published_ = false;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::FileOutputStream> sink_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

ShardWriter::ShardWriter(const fs::path& directory,
                         const std::string& file,
                         const data::TokenLayout& layout,
                         std::vector<uint32_t> pack)
    : directory_(directory),
      name_(file),
      layout_(layout),
      rows_(std::make_unique<Rows>(layout)),
      file_(std::make_unique<File>(directory / file, layout)),
      pack_(std::move(pack)) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::add(std::span<const data::TokenId> ids, bool trained_on) {
  tokens_ += ids.size();
  while (!ids.empty()) {
    const size_t room = 2 * kBlockTokens - rows_->tokens();
    const size_t count = std::min(room, ids.size());
    rows_->add(ids.first(count), trained_on);
    ids = ids.subspan(count);
    if (rows_->tokens() == 2 * kBlockTokens) {
      // Whole documents first; one that fills a block alone is cut.
      rows_->end_row(continues_);
      continues_ = true;
      write_block();
    }
  }
}

void ShardWriter::end_document() {
  ++documents_;
  break_document();
}

void ShardWriter::break_document() {
  rows_->end_row(continues_);
  continues_ = false;
  if (!pack_.empty()) document_ends_.push_back(tokens_);
  if (rows_->tokens() >= kBlockTokens) write_block();
}

void ShardWriter::write_block() {
  file_->write(*rows_);
  rows_->clear();
}

data::Shard ShardWriter::finish() {
  break_document();
  if (rows_->tokens() > 0) write_block();
  file_->publish();

  const fs::path path = directory_ / name_;
  const std::string what = format("reading {} again", path.string());
  const auto mapped =
      must(arrow::io::MemoryMappedFile::Open(path.string(), arrow::io::FileMode::READ), what);
  const auto whole = must(mapped->ReadAt(0, must(mapped->GetSize(), what)), what);
  const auto reader = must(arrow::ipc::RecordBatchFileReader::Open(mapped), what);
  data::Shard shard{.file = name_,
                    .bytes = static_cast<uint64_t>(whole->size()),
                    .documents = documents_,
                    .digest = xxh3_128(std::string_view(*whole)).hex()};
  for (int number = 0; number < reader->num_record_batches(); ++number) {
    const auto batch = must(reader->ReadRecordBatch(number), what);
    shard.blocks.push_back(block_of(*batch, whole->data()));
    shard.tokens += shard.blocks.back().tokens;
  }
  // One token more than inputs: the last target.
  for (const uint32_t length : pack_)
    shard.packed[length] = data::pack_best_fit(document_ends_, length + 1).sequence_ends.size();
  return shard;
}

}  // namespace shoal::prepare
