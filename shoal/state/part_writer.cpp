#include "shoal/state/part_writer.h"

#include <algorithm>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

namespace shoal::state {
namespace {

void check(const PieceSpec& piece) {
  SHOAL_CHECK(can_be_named(piece), "'{}' is no name for a tensor", piece.name);
  SHOAL_CHECK(checked_bytes(piece.dtype, piece.shape).has_value(), "tensor '{}' of shape {}",
              piece.name, describe(piece.shape));
  SHOAL_CHECK(is_inside(piece.box, piece.shape), "{} of tensor '{}' does not lie in {}",
              describe(piece.box), piece.name, describe(piece.shape));
  SHOAL_CHECK(header_share(piece) <= kHeaderBudget, "{} of tensor '{}' is too large a piece",
              describe(piece.box), piece.name);
}

}  // namespace

PartWriter::PartWriter(std::filesystem::path directory,
                       std::string id,
                       int rank,
                       std::vector<PieceSpec> pieces)
    : directory_(std::move(directory)),
      id_(std::move(id)),
      rank_(rank),
      pieces_(std::move(pieces)) {
  for (const PieceSpec& piece : pieces_) {
    check(piece);
    report_.add(piece);
  }
}

// As many of the next pieces as it may hold, at least one.
void PartWriter::open_file() {
  in_file_.clear();
  in_file_done_ = 0;
  uint64_t bytes = 0;
  size_t header = 0;
  for (size_t i = next_; i < pieces_.size(); ++i) {
    if (piece_bytes(pieces_[i]) == 0) continue;
    bytes += piece_bytes(pieces_[i]);
    header += header_share(pieces_[i]);
    if (!in_file_.empty() && (bytes > kMaxFileBytes || header > kHeaderBudget)) break;
    in_file_.push_back({pieces_[i]});
  }
  uint64_t end = part_header(id_, in_file_).size();
  DataFile file{.name = format("rank-{:05}-{:05}.safetensors", rank_, report_.files.size()),
                .header_bytes = end};
  for (PieceInFile& piece : in_file_) {
    piece.at = end;
    end += piece_bytes(piece);
  }
  file.bytes = end;
  file_.emplace(directory_ / file.name);
  report_.files.push_back(std::move(file));
}

void PartWriter::close_file() {
  const std::string header = part_header(id_, in_file_);
  DataFile& file = report_.files.back();
  SHOAL_CHECK(header.size() == file.header_bytes, "a header of {} bytes", header.size());
  file_->write_at(0, header);
  file_->close();
  file_.reset();
  file.header_digest = xxh3_128(header);
}

void PartWriter::write(std::span<const std::byte> bytes) {
  SHOAL_CHECK(next_ < pieces_.size(), "more than {} pieces", pieces_.size());
  const PieceSpec& spec = pieces_[next_];
  SHOAL_CHECK(bytes.size() == piece_bytes(spec), "{} of tensor '{}' has {} bytes, not {}",
              describe(spec.box), spec.name, piece_bytes(spec), bytes.size());
  if (bytes.empty()) {
    ++next_;
    return;
  }
  if (!file_) open_file();
  ++next_;
  PieceInFile& piece = in_file_[in_file_done_++];
  for (uint64_t at = piece.at; !bytes.empty();) {
    const std::span<const std::byte> chunk = bytes.first(std::min(bytes.size(), kChunkBytes));
    piece.crc32c.push_back(crc32c(chunk));
    file_->write_at(at, chunk);
    at += chunk.size();
    bytes = bytes.subspan(chunk.size());
  }
  if (in_file_done_ == in_file_.size()) close_file();
}

PartReport PartWriter::finish() {
  SHOAL_CHECK(next_ == pieces_.size(), "{} of {} pieces are written", next_, pieces_.size());
  return std::move(report_);
}

}  // namespace shoal::state
