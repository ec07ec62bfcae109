// The manifest of a checkpoint as text: the second half of checkpoint_manifest.h.

#include <algorithm>
#include <charconv>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/json_text.h"
#include "shoal/state/checkpoint_manifest.h"

namespace shoal::state {
namespace {

constexpr uint64_t kVersion = 1;
constexpr const char* kFormat = "shoal checkpoint";
constexpr size_t kCrcDigits = 8;

// The last field is the digest of every byte before its own 32 digits.
constexpr std::string_view kBeforeDigest = ",\n \"digest\": \"";
constexpr std::string_view kAfterDigest = "\"}\n";
constexpr size_t kDigestDigits = 32;

// Writing.

std::string json_of(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string json_of(const PieceEntry& piece) {
  std::string sums;
  for (const uint32_t sum : piece.crc32c) sums += format("{:08x}", sum);
  return format(R"({{"file": {}, "at": {}, "begin": {}, "extent": {}, "crc32c": "{}"}})",
                piece.file, piece.at, json_of(piece.box.begin), json_of(piece.box.extent), sums);
}

std::string json_of(const TensorEntry& tensor) {
  std::string pieces;
  for (const PieceEntry& piece : tensor.pieces)
    pieces += (pieces.empty() ? "\n    " : ",\n    ") + json_of(piece);
  return format(R"({{"name": {}, "dtype": "{}", "shape": {}, "pieces": [{}]}})",
                json::in_quotes(tensor.name), dtype_name(tensor.dtype), json_of(tensor.shape),
                pieces);
}

// "files" and "tensors", without braces around.
std::string fields_of(const PartList& parts) {
  std::string files;
  for (const DataFile& file : parts.files) {
    files += format(
        "{}\n  {{\"file\": {}, \"bytes\": {}, \"header_bytes\": {}, \"header_crc32c\": "
        "\"{:08x}\"}}",
        files.empty() ? "" : ",", json::in_quotes(file.name), file.bytes, file.header_bytes,
        file.header_crc32c);
  }
  std::string tensors;
  for (const TensorEntry& tensor : parts.tensors)
    tensors += (tensors.empty() ? "\n  " : ",\n  ") + json_of(tensor);
  return format("\"files\": [{}],\n \"tensors\": [{}]", files, tensors);
}

// Reading.

uint64_t limited(json::element value, const std::string& what, uint64_t most) {
  uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS)
    throw DataError(format("{} is not a whole number", what));
  if (number > most) throw DataError(format("{} is {}, but at most {}", what, number, most));
  return number;
}

uint64_t limited(const json::Fields& fields, const std::string& key, uint64_t most = kMaxBytes) {
  return limited(fields.require(key), fields.path() + "." + key, most);
}

Shape shape_from(const json::Fields& fields, const std::string& key) {
  const std::string what = fields.path() + "." + key;
  Shape shape;
  for (const json::element value : fields.list(key)) {
    if (shape.size() == kMaxDims)
      throw DataError(format("{} has more than {} dimensions", what, kMaxDims));
    shape.push_back(static_cast<int64_t>(limited(value, what, kMaxBytes)));
  }
  return shape;
}

std::vector<uint32_t> checksums_from(const json::Fields& fields, const std::string& key) {
  const std::string text = fields.text(key);
  std::vector<uint32_t> sums(text.size() / kCrcDigits);
  bool fits = text.size() % kCrcDigits == 0;
  for (size_t i = 0; fits && i < sums.size(); ++i) {
    const char* const from = text.data() + i * kCrcDigits;
    const auto [stop, error] = std::from_chars(from, from + kCrcDigits, sums[i], 16);
    fits = error == std::errc() && stop == from + kCrcDigits;
  }
  if (!fits) throw DataError(format("{}.{} is not made of 8 hex digits each", fields.path(), key));
  return sums;
}

// In the checkpoint's own directory, and of our own making: no path, nothing hidden.
std::string file_name_from(const json::Fields& fields) {
  std::string name = fields.text("file");
  const bool is_plain = !name.empty() && name.size() <= 255 && name.front() != '.' &&
                        std::all_of(name.begin(), name.end(), [](char byte) {
                          return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                                 byte == '-' || byte == '.';
                        });
  if (!is_plain || name == kCheckpointManifest)
    throw DataError(format("{}.file is {}, not the name of a file of tensors", fields.path(),
                           json::in_quotes(name)));
  return name;
}

DataFile data_file_from(const json::Fields& fields) {
  DataFile file;
  file.name = file_name_from(fields);
  file.bytes = limited(fields, "bytes");
  file.header_bytes = limited(fields, "header_bytes", file.bytes);
  const std::vector<uint32_t> sums = checksums_from(fields, "header_crc32c");
  if (sums.size() != 1) throw DataError(format("{}.header_crc32c is not one", fields.path()));
  file.header_crc32c = sums.front();
  return file;
}

PieceEntry piece_from(const json::Fields& fields, const TensorSpec& tensor, const PartList& parts) {
  if (parts.files.empty()) throw DataError(format("{} has no file to be in", fields.path()));
  PieceEntry piece;
  piece.file = limited(fields, "file", parts.files.size() - 1);
  piece.at = limited(fields, "at");
  piece.box = {shape_from(fields, "begin"), shape_from(fields, "extent")};
  if (!is_inside(piece.box, tensor.shape) || elements_of(piece.box) == 0)
    throw DataError(
        format("{} is empty or does not lie in {}", fields.path(), describe(tensor.shape)));
  piece.crc32c = checksums_from(fields, "crc32c");
  const uint64_t bytes = piece_bytes(tensor, piece);
  if (piece.crc32c.size() != (bytes + kChunkBytes - 1) / kChunkBytes)
    throw DataError(
        format("{} has {} bytes, but {} checksums", fields.path(), bytes, piece.crc32c.size()));
  const DataFile& file = parts.files[piece.file];
  if (piece.at > file.bytes || bytes > file.bytes - piece.at)
    throw DataError(format("{} has {} bytes at {}, behind the end of {} at {}", fields.path(),
                           bytes, piece.at, file.name, file.bytes));
  return piece;
}

TensorEntry tensor_from(const json::Fields& fields, const PartList& parts) {
  TensorEntry tensor;
  tensor.name = fields.text("name");
  if (!is_tensor_name(tensor.name))
    throw DataError(
        format("{}.name has {} bytes or a zero byte", fields.path(), tensor.name.size()));
  const std::optional<DType> dtype = dtype_named(fields.text("dtype"));
  if (!dtype) throw DataError(format("{}.dtype is none that shoal knows", fields.path()));
  tensor.dtype = *dtype;
  tensor.shape = shape_from(fields, "shape");
  if (!checked_bytes(tensor.dtype, tensor.shape))
    throw DataError(format("{} of shape {} is too large", fields.path(), describe(tensor.shape)));
  const std::string what = "tensor " + json::in_quotes(tensor.name);
  for (const json::element value : fields.list("pieces")) {
    const json::Fields piece(value, format("{}.pieces[{}]", what, tensor.pieces.size()));
    tensor.pieces.push_back(piece_from(piece, tensor, parts));
  }
  return tensor;
}

PartList parts_from(const json::Fields& root) {
  PartList parts;
  for (const json::element value : root.list("files"))
    parts.files.push_back(data_file_from({value, format("files[{}]", parts.files.size())}));
  for (const json::element value : root.list("tensors")) {
    TensorEntry tensor = tensor_from({value, format("tensors[{}]", parts.tensors.size())}, parts);
    if (!parts.tensors.empty() && tensor.name <= parts.tensors.back().name)
      throw DataError(
          format("tensor {} is there twice or out of order", json::in_quotes(tensor.name)));
    parts.tensors.push_back(std::move(tensor));
  }
  return parts;
}

void check_digest(std::string_view json) {
  const size_t tail = kBeforeDigest.size() + kDigestDigits + kAfterDigest.size();
  if (json.size() < tail ||
      json.substr(json.size() - tail, kBeforeDigest.size()) != kBeforeDigest ||
      json.substr(json.size() - kAfterDigest.size()) != kAfterDigest)
    throw DataError("it does not end with its digest: torn, or not a manifest");
  const size_t at = json.size() - kAfterDigest.size() - kDigestDigits;
  if (json.substr(at, kDigestDigits) != xxh3_128(json.substr(0, at)).hex())
    throw DataError("it is damaged: its digest does not hold");
}

CheckpointManifest manifest_from(std::string_view text) {
  check_digest(text);
  const json::Document document(text);
  const json::Fields root(document.root(), "manifest");
  if (root.text("format") != kFormat) throw DataError("it is not the manifest of a checkpoint");
  const uint64_t version = root.number("version");
  if (version != kVersion)
    throw DataError(format("it is of version {}, this shoal reads {}", version, kVersion));
  if (const uint64_t bytes = root.number("chunk_bytes"); bytes != kChunkBytes)
    throw DataError(format("its chunks have {} bytes, not {}", bytes, kChunkBytes));
  CheckpointManifest manifest;
  manifest.step = limited(root, "step", kMaxStep);
  const json::Fields values = root.object("values");
  for (const std::string& key : values.keys()) manifest.values.emplace(key, values.text(key));
  manifest.parts = parts_from(root);
  check_complete(manifest.parts);
  return manifest;
}

}  // namespace

std::string to_json(const PartList& parts) { return "{" + fields_of(parts) + "}\n"; }

PartList part_list_from_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] {
    const json::Document document(json);
    return parts_from(json::Fields(document.root(), "parts"));
  });
}

std::string to_json(const CheckpointManifest& manifest) {
  std::string values;
  for (const auto& [key, value] : manifest.values)
    values += format("{}\n  {}: {}", values.empty() ? "" : ",", json::in_quotes(key),
                     json::in_quotes(value));
  std::string text = format(
      "{{\"format\": \"{}\", \"version\": {}, \"step\": {}, \"chunk_bytes\": {},\n"
      " \"values\": {{{}}},\n {}",
      kFormat, kVersion, manifest.step, kChunkBytes, values, fields_of(manifest.parts));
  text += kBeforeDigest;
  text += xxh3_128(text).hex();
  return text.append(kAfterDigest);
}

CheckpointManifest manifest_from_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] { return manifest_from(json); });
}

}  // namespace shoal::state
