#include "shoal/state/part_header.h"

#include <algorithm>
#include <charconv>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"
#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/safetensors.h"

namespace shoal::state {
namespace {

constexpr const char* kFormatKey = "format";
constexpr const char* kIdKey = "id";
constexpr size_t kCrcDigits = 8;
constexpr size_t kAlignment = 4096;  // of the first piece: for direct and mapped reading

// Writing.

std::string about(const PieceInFile& piece) {
  std::string text = describe(piece.shape) + " ";
  const size_t chunks = chunks_of(piece_bytes(piece));
  SHOAL_CHECK(piece.crc32c.empty() || piece.crc32c.size() == chunks, "{} checksums for {} chunks",
              piece.crc32c.size(), chunks);
  for (size_t i = 0; i < chunks; ++i)
    text += format("{:08x}", piece.crc32c.empty() ? 0 : piece.crc32c[i]);
  return text;
}

// Reading.

// What is left of a text, taken from its front.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  bool take(std::string_view expected) {
    if (text_.substr(0, expected.size()) != expected) return false;
    text_.remove_prefix(expected.size());
    return true;
  }

  bool take_number(int64_t& number) {
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    const bool has_zeros = text_.size() > 1 && text_[0] == '0' && stop != text_.data() + 1;
    if (error != std::errc() || value > kMaxBytes || has_zeros) return false;
    number = static_cast<int64_t>(value);
    text_.remove_prefix(static_cast<size_t>(stop - text_.data()));
    return true;
  }

  bool take_checksum(uint32_t& sum) {
    if (text_.size() < kCrcDigits) return false;
    const auto [stop, error] = std::from_chars(text_.data(), text_.data() + kCrcDigits, sum, 16);
    if (error != std::errc() || stop != text_.data() + kCrcDigits) return false;
    text_.remove_prefix(kCrcDigits);
    return true;
  }

  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

// "[4, 6] 8a5e11d0..."
bool read_about(std::string_view text, PieceInFile& piece) {
  Rest rest(text);
  if (!rest.take("[")) return false;
  while (!rest.take("]")) {
    if (piece.shape.size() == kMaxDims || (!piece.shape.empty() && !rest.take(", "))) return false;
    if (!rest.take_number(piece.shape.emplace_back())) return false;
  }
  if (!rest.take(" ")) return false;
  while (!rest.at_end()) {
    if (!rest.take_checksum(piece.crc32c.emplace_back())) return false;
  }
  return true;
}

// "weights.a[0:2,3:6]", of which the extents are known.
bool read_name(std::string_view name, const Shape& extent, PieceInFile& piece) {
  const size_t bracket = name.find('[');
  piece.name = name.substr(0, bracket);
  piece.box = {Shape(extent.size(), 0), extent};
  if (bracket == std::string_view::npos) return piece.shape == extent;
  Rest rest(name.substr(bracket + 1));
  for (size_t dim = 0; dim < extent.size(); ++dim) {
    int64_t end = 0;
    if ((dim > 0 && !rest.take(",")) || !rest.take_number(piece.box.begin[dim]) ||
        !rest.take(":") || !rest.take_number(end) || end - piece.box.begin[dim] != extent[dim])
      return false;
  }
  return rest.take("]") && rest.at_end() && piece.shape != extent &&
         is_inside(piece.box, piece.shape);
}

PieceInFile piece_from(const TensorInfo& info, const Metadata& metadata) {
  PieceInFile piece;
  piece.dtype = info.dtype;
  piece.at = info.at;
  const auto found = metadata.find(info.name);
  const bool understood = found != metadata.end() && read_about(found->second, piece) &&
                          read_name(info.name, info.shape, piece) && is_tensor_name(piece.name) &&
                          checked_bytes(piece.dtype, piece.shape).has_value() && info.bytes > 0 &&
                          piece.crc32c.size() == chunks_of(info.bytes);
  if (!understood)
    throw DataError(
        format("{} is no piece of a tensor with its checksums", json::in_quotes(info.name)));
  return piece;
}

}  // namespace

std::string name_in_file(const PieceSpec& piece) {
  return piece.box == whole_of(piece.shape) ? piece.name : piece.name + describe(piece.box);
}

bool can_be_named(const PieceSpec& piece) {
  return is_tensor_name(piece.name) && is_tensor_name(name_in_file(piece)) &&
         piece.name.find('[') == std::string::npos && piece.name != kFormatKey &&
         piece.name != kIdKey;
}

std::string part_header(const std::string& id, const std::vector<PieceInFile>& pieces) {
  Metadata metadata = {{kFormatKey, kCheckpointFormat}, {kIdKey, id}};
  std::vector<TensorSpec> entries;
  for (const PieceInFile& piece : pieces) {
    entries.push_back({name_in_file(piece), piece.dtype, piece.box.extent});
    const bool is_new = metadata.emplace(entries.back().name, about(piece)).second;
    SHOAL_CHECK(is_new, "piece '{}' is written twice", entries.back().name);
  }
  return safetensors_header(entries, metadata, kAlignment);
}

size_t header_share(const PieceSpec& piece) {
  constexpr size_t kAroundIt = 128;  // keys, type and two offsets of up to 15 digits
  const std::string name = json::in_quotes(piece.name);
  return 2 * (name.size() + 34 * piece.shape.size()) + kAroundIt + 36 * piece.shape.size() +
         kCrcDigits * chunks_of(piece_bytes(piece));
}

std::vector<PieceInFile> read_part_header(std::string_view header,
                                          uint64_t file_bytes,
                                          const std::string& id,
                                          const std::string& name) {
  const SafetensorsHeader read = read_safetensors_header(header, file_bytes, name);
  try {
    const auto is_said = [&](const char* key, const std::string& value) {
      const auto found = read.metadata.find(key);
      return found != read.metadata.end() && found->second == value;
    };
    if (!is_said(kFormatKey, kCheckpointFormat)) throw DataError("it is no part of a checkpoint");
    if (!is_said(kIdKey, id)) throw DataError("it is a part of another checkpoint");
    if (read.metadata.size() != read.tensors.size() + 2)
      throw DataError("it has checksums for pieces that are not there");
    std::vector<PieceInFile> pieces;
    pieces.reserve(read.tensors.size());
    for (const TensorInfo& info : read.tensors) pieces.push_back(piece_from(info, read.metadata));
    return pieces;
  } catch (const DataError& error) {
    throw DataError(format("{}: {}", name, error.what()));
  }
}

}  // namespace shoal::state
