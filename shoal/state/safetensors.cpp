#include "shoal/state/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/json_text.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // of the reference library too
constexpr size_t kMaxDepth = 4;
constexpr size_t kMaxTensors = 1'000'000;
constexpr size_t kMaxMetadataBytes = size_t{1} << 20;
constexpr const char* kMetadata = "__metadata__";

// Reading.

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

// Where the JSON is in the file.
std::string_view json_of(std::string_view file) {
  if (file.size() < kLengthBytes)
    throw DataError(
        format("it has {} bytes, too few for a header: it was cut, or is no safetensors file",
               file.size()));
  const uint64_t size = little_endian(file);
  if (size > kMaxHeaderBytes)
    throw DataError(format(
        "its header has {} bytes, at most {} are read: it is damaged, or no safetensors file", size,
        kMaxHeaderBytes));
  if (size > file.size() - kLengthBytes)
    throw DataError(format("its header has {} bytes, but the file only {}", size, file.size()));
  return file.substr(kLengthBytes, size);
}

// A header needs only objects, lists, texts and digits of JSON. Signs, fractions, exponents, true,
// false, null and comments have no meaning in it, and other readers might give them one.
void check_characters(std::string_view json) {
  constexpr std::string_view kSpace = " \t\n\r";
  constexpr std::string_view kOutsideTexts = "{}[]:,0123456789 \t\n\r";
  const size_t start = json.find_first_not_of(kSpace);
  if (start == std::string_view::npos || json[start] != '{')
    throw DataError("its header does not begin with {");
  bool in_text = false;
  for (size_t i = start; i < json.size(); ++i) {
    if (in_text && json[i] == '\\') {
      ++i;  // whatever is escaped, it does not end the text
    } else if (json[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && kOutsideTexts.find(json[i]) == std::string_view::npos) {
      throw DataError(format("its header has the byte 0x{:02x} at {}, outside any text",
                             static_cast<unsigned char>(json[i]), i));
    }
  }
}

uint64_t small_number(json::element value, const std::string& what) {
  uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS)
    throw DataError(format("{} is not a whole number", what));
  if (number > kMaxBytes)
    throw DataError(format("{} is {}, but at most {}", what, number, kMaxBytes));
  return number;
}

Metadata metadata_from(json::element value) {
  const json::Fields fields(value, kMetadata);
  Metadata metadata;
  size_t bytes = 0;
  for (const std::string& key : fields.keys()) {
    const std::string text = fields.text(key);
    bytes += key.size() + text.size();
    if (bytes > kMaxMetadataBytes)
      throw DataError(format("{} has more than {} bytes", kMetadata, kMaxMetadataBytes));
    if (key.find('\0') != std::string::npos || text.find('\0') != std::string::npos)
      throw DataError(format("{} has a text with a zero byte", kMetadata));
    metadata.emplace(key, text);
  }
  return metadata;
}

// `data_start` is where offset 0 lies in the file.
TensorInfo tensor_from(std::string_view name, json::element value, uint64_t data_start) {
  if (!is_tensor_name(name))
    throw DataError(format("a tensor's name has {} bytes or a zero byte; 1 to {} are allowed",
                           name.size(), kMaxTensorName));
  const json::Fields fields(value, "tensor " + json::in_quotes(name));
  if (fields.keys() != std::vector<std::string>{"data_offsets", "dtype", "shape"})
    throw DataError(format("{} has other keys than dtype, shape and data_offsets", fields.path()));

  TensorInfo tensor;
  tensor.name = name;
  const std::string dtype = fields.text("dtype");
  const std::optional<DType> known = dtype_named(dtype);
  if (!known)
    throw DataError(format("{} is of type {}, which shoal does not know", fields.path(),
                           json::in_quotes(dtype.substr(0, 32))));
  tensor.dtype = *known;
  for (const json::element size : fields.list("shape")) {
    if (tensor.shape.size() == kMaxDims)
      throw DataError(format("{} has more than {} dimensions", fields.path(), kMaxDims));
    tensor.shape.push_back(static_cast<int64_t>(small_number(size, fields.path() + ".shape")));
  }
  const std::optional<uint64_t> bytes = checked_bytes(tensor.dtype, tensor.shape);
  if (!bytes)
    throw DataError(format("{} of shape {} is too large", fields.path(), describe(tensor.shape)));

  const simdjson::dom::array offsets = fields.list("data_offsets");
  if (offsets.size() != 2)
    throw DataError(format("{}.data_offsets are not two numbers", fields.path()));
  const uint64_t begin = small_number(offsets.at(0), fields.path() + ".data_offsets");
  const uint64_t end = small_number(offsets.at(1), fields.path() + ".data_offsets");
  if (end < begin || end - begin != *bytes)
    throw DataError(format("{} of {} and shape {} needs {} bytes, but its place is {} to {}",
                           fields.path(), dtype, describe(tensor.shape), *bytes, begin, end));
  tensor.at = data_start + begin;
  tensor.bytes = *bytes;
  return tensor;
}

// Each begins where the one before ends, the last at the end of the file: no byte has two meanings,
// and none has no meaning.
void check_places(const std::vector<TensorInfo>& tensors, uint64_t data_start, uint64_t file_size) {
  uint64_t end = data_start;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.at != end)
      throw DataError(format("tensor {} begins at {} of the data, but the one before ends at {}",
                             json::in_quotes(tensor.name), tensor.at - data_start,
                             end - data_start));
    end = tensor.at + tensor.bytes;
  }
  if (end != file_size)
    throw DataError(
        format("its tensors end at {}, but the file has {} bytes: it was cut or is damaged", end,
               file_size));
}

std::vector<size_t> order_by_name(const std::vector<TensorInfo>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensors[a].name < tensors[b].name; });
  return order;
}

SafetensorsHeader header_from(std::string_view front, uint64_t file_bytes) {
  const std::string_view json = json_of(front);
  check_characters(json);
  const json::Document document(json, kMaxDepth);
  simdjson::dom::object entries;
  if (document.root().get(entries) != simdjson::SUCCESS)
    throw DataError("its header is not an object");

  const uint64_t data_start = kLengthBytes + json.size();
  SafetensorsHeader header;
  bool has_metadata = false;
  for (const auto& [name, value] : entries) {
    if (name == kMetadata) {
      if (std::exchange(has_metadata, true)) throw DataError("it has __metadata__ twice");
      header.metadata = metadata_from(value);
      continue;
    }
    if (header.tensors.size() == kMaxTensors)
      throw DataError(format("it has more than {} tensors", kMaxTensors));
    header.tensors.push_back(tensor_from(name, value, data_start));
  }
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tie(a.at, a.bytes, a.name) < std::tie(b.at, b.bytes, b.name);
            });
  check_places(header.tensors, data_start, file_bytes);
  const std::vector<size_t> order = order_by_name(header.tensors);
  for (size_t i = 1; i < order.size(); ++i) {
    const std::string& name = header.tensors[order[i]].name;
    if (name == header.tensors[order[i - 1]].name)
      throw DataError(format("it has tensor {} twice", json::in_quotes(name)));
  }
  return header;
}

// Writing.

std::string json_of(const Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata)
    text += (text.empty() ? "" : ",") + json::in_quotes(key) + ":" + json::in_quotes(value);
  return "{" + text + "}";
}

std::string json_of(const TensorSpec& tensor, uint64_t begin, uint64_t end) {
  std::string shape;
  for (const int64_t size : tensor.shape)
    shape += (shape.empty() ? "" : ",") + std::to_string(size);
  return format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                json::in_quotes(tensor.name), dtype_name(tensor.dtype), shape, begin, end);
}

// As the library sorts them: by type, from the largest elements to the smallest, then by name.
std::vector<TensorSpec> in_file_order(std::vector<TensorSpec> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
    return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
  });
  return tensors;
}

fs::path unfinished_name(const fs::path& path) {
  fs::path name = path.string() + ".unfinished";
  std::error_code none_there;
  fs::remove(name, none_there);  // of a process that was killed
  return name;
}

}  // namespace

SafetensorsHeader read_safetensors_header(std::string_view front,
                                          uint64_t file_bytes,
                                          const std::string& name) {
  return json::named(name, [&] { return header_from(front, file_bytes); });
}

Safetensors::Safetensors(const fs::path& path)
    : file_(path),
      header_(read_safetensors_header(file_.bytes(), file_.bytes().size(), path.string())),
      by_name_(order_by_name(header_.tensors)) {}

const TensorInfo* Safetensors::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](size_t i, std::string_view key) { return tensors()[i].name < key; });
  if (found == by_name_.end() || tensors()[*found].name != name) return nullptr;
  return &tensors()[*found];
}

std::span<const std::byte> Safetensors::bytes(const TensorInfo& tensor) const {
  const std::string_view all = file_.bytes();
  SHOAL_CHECK(tensor.at <= all.size() && tensor.bytes <= all.size() - tensor.at,
              "tensor '{}' is not of this file", tensor.name);
  return std::as_bytes(std::span(all)).subspan(tensor.at, tensor.bytes);
}

void Safetensors::release(const TensorInfo& tensor) const {
  file_.advise(MappedFile::Access::kDone, tensor.at, tensor.bytes);
}

std::string safetensors_header(const std::vector<TensorSpec>& tensors,
                               const Metadata& metadata,
                               size_t alignment) {
  std::string json = "{";
  if (!metadata.empty()) json += format("\"{}\":{}", kMetadata, json_of(metadata));
  uint64_t end = 0;
  for (const TensorSpec& tensor : tensors) {
    const uint64_t begin = end;
    end += tensor_bytes(tensor.dtype, tensor.shape);
    json += (json.size() == 1 ? "" : ",") + json_of(tensor, begin, end);
  }
  json += "}";
  const size_t whole = (kLengthBytes + json.size() + alignment - 1) / alignment * alignment;
  json.resize(whole - kLengthBytes, ' ');
  SHOAL_CHECK(json.size() <= kMaxHeaderBytes, "{} tensors need a header of {} bytes, at most {}",
              tensors.size(), json.size(), kMaxHeaderBytes);
  std::string length(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return length + json;
}

SafetensorsWriter::SafetensorsWriter(fs::path path,
                                     std::vector<TensorSpec> tensors,
                                     const Metadata& metadata)
    : path_(std::move(path)), file_(unfinished_name(path_)) {
  try {
    tensors = in_file_order(std::move(tensors));
    const std::string header = safetensors_header(tensors, metadata);
    uint64_t end = header.size();
    for (const TensorSpec& tensor : tensors) {
      const uint64_t begin = end;
      end += tensor_bytes(tensor.dtype, tensor.shape);
      SHOAL_CHECK(is_tensor_name(tensor.name) && tensor.name != kMetadata,
                  "'{}' is no name for a tensor", tensor.name);
      const bool is_new = places_.emplace(tensor.name, Place{begin, end}).second;
      SHOAL_CHECK(is_new, "tensor '{}' is listed twice", tensor.name);
    }
    file_.write_at(0, header);
  } catch (...) {  // the destructor of an object that never was does not run
    std::error_code ignored;
    fs::remove(file_.path(), ignored);
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  if (finished_) return;
  std::error_code ignored;
  fs::remove(file_.path(), ignored);
}

void SafetensorsWriter::write(std::string_view name, std::span<const std::byte> bytes) {
  const auto found = places_.find(name);
  SHOAL_CHECK(found != places_.end(), "tensor '{}' was not in the list", name);
  Place& place = found->second;
  SHOAL_CHECK(bytes.size() <= place.end - place.next,
              "tensor '{}' gets {} bytes, but needs only {}", name, bytes.size(),
              place.end - place.next);
  file_.write_at(place.next, bytes);
  place.next += bytes.size();
}

void SafetensorsWriter::finish() {
  for (const auto& [name, place] : places_) {
    SHOAL_CHECK(place.next == place.end, "tensor '{}' still needs {} bytes", name,
                place.end - place.next);
  }
  file_.close();
  publish_file(file_.path(), path_);
  finished_ = true;
}

}  // namespace shoal::state
