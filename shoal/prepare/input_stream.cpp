#include "shoal/prepare/input_stream.h"

#include <algorithm>

#include <arrow/io/compressed.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include "shoal/prepare/arrow_errors.h"

namespace shoal::prepare {
namespace {

class RangeStream : public InputStream {
 public:
  RangeStream(const InputFile& file, uint64_t begin, uint64_t end)
      : what_(format("reading {}", file.name)),
        file_(open_input(file)),
        at_(begin),
        end_(std::min(end, file.bytes)) {}

  size_t read(std::span<char> to) override {
    const uint64_t count = std::min<uint64_t>(to.size(), end_ - std::min(at_, end_));
    if (count == 0) return 0;
    const int64_t got = must(
        file_->ReadAt(static_cast<int64_t>(at_), static_cast<int64_t>(count), to.data()), what_);
    // A file that shrinks under us would otherwise look like one that ends here.
    if (got == 0) throw DataError(format("{}: it became shorter", what_));
    at_ += static_cast<uint64_t>(got);
    return static_cast<size_t>(got);
  }

  [[nodiscard]] uint64_t position() const override { return at_; }

 private:
  std::string what_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  uint64_t at_;
  uint64_t end_;
};

class DecompressedStream : public InputStream {
 public:
  explicit DecompressedStream(const InputFile& file) : what_(format("reading {}", file.name)) {
    codec_ = must(arrow::util::Codec::Create(file.compression == Compression::kGzip
                                                 ? arrow::Compression::GZIP
                                                 : arrow::Compression::ZSTD),
                  what_);
    file_ = open_input(file);
    stream_ = must(arrow::io::CompressedInputStream::Make(codec_.get(), file_), what_);
  }

  size_t read(std::span<char> to) override {
    return static_cast<size_t>(
        must(stream_->Read(static_cast<int64_t>(to.size()), to.data()), what_));
  }

  [[nodiscard]] uint64_t position() const override {
    return static_cast<uint64_t>(file_->Tell().ValueOr(0));
  }

 private:
  std::string what_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::io::CompressedInputStream> stream_;
};

}  // namespace

std::unique_ptr<InputStream> open_stream(const InputFile& file, uint64_t begin, uint64_t end) {
  if (file.compression == Compression::kNone)
    return std::make_unique<RangeStream>(file, begin, end);
  SHOAL_CHECK(begin == 0, "a compressed file is not sliced");
  return std::make_unique<DecompressedStream>(file);
}

}  // namespace shoal::prepare
