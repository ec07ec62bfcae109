#include "shoal/state/manifest_fields.h"

#include <algorithm>
#include <set>

#include "shoal/core/json_text.h"
#include "shoal/core/number_in.h"

namespace shoal::state {
namespace {

constexpr size_t kHalfDigits = 16;

uint64_t limited(json::element value, const std::string& what, uint64_t most) {
  uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS)
    throw DataError(format("{} is not a whole number", what));
  if (number > most) throw DataError(format("{} is {}, but at most {}", what, number, most));
  return number;
}

Hash128 digest_from(const json::Fields& fields, const std::string& key) {
  const std::string text = fields.text(key);
  const std::string_view digits = text;
  const auto high = number_in<uint64_t>(digits.substr(0, kHalfDigits), 16);
  const auto low = number_in<uint64_t>(digits.substr(std::min(kHalfDigits, digits.size())), 16);
  if (text.size() != 2 * kHalfDigits || !high || !low)
    throw DataError(format("{}.{} is not made of 32 hex digits", fields.path(), key));
  return {.low = *low, .high = *high};
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

DataFile file_from(const json::Fields& fields) {
  DataFile file;
  file.name = file_name_from(fields);
  file.bytes = limited_number(fields, "bytes", kMaxBytes);
  file.header_bytes =
      limited_number(fields, "header_bytes", std::min<uint64_t>(file.bytes, kMaxPartHeaderBytes));
  file.header_digest = digest_from(fields, "header_digest");
  return file;
}

TensorSpec tensor_from(const json::Fields& fields) {
  TensorSpec tensor;
  tensor.name = fields.text("name");
  if (!is_tensor_name(tensor.name))
    throw DataError(
        format("{}.name has {} bytes or a zero byte", fields.path(), tensor.name.size()));
  const std::optional<DType> dtype = dtype_named(fields.text("dtype"));
  if (!dtype) throw DataError(format("{}.dtype is none that shoal knows", fields.path()));
  tensor.dtype = *dtype;
  for (const json::element size : fields.list("shape")) {
    if (tensor.shape.size() == kMaxDims)
      throw DataError(format("{}.shape has more than {} dimensions", fields.path(), kMaxDims));
    tensor.shape.push_back(
        static_cast<int64_t>(limited(size, fields.path() + ".shape", kMaxBytes)));
  }
  if (!checked_bytes(tensor.dtype, tensor.shape))
    throw DataError(format("{} of shape {} is too large", fields.path(), describe(tensor.shape)));
  return tensor;
}

}  // namespace

uint64_t limited_number(const json::Fields& fields, const std::string& key, uint64_t most) {
  return limited(fields.require(key), fields.path() + "." + key, most);
}

std::string fields_of(const std::vector<DataFile>& files, const std::vector<TensorSpec>& tensors) {
  std::string text = "\"files\": [";
  for (const DataFile& file : files)
    text += format(
        "{}\n  {{\"file\": {}, \"bytes\": {}, \"header_bytes\": {}, \"header_digest\": \"{}\"}}",
        &file == files.data() ? "" : ",", json::in_quotes(file.name), file.bytes, file.header_bytes,
        file.header_digest.hex());
  text += "],\n \"tensors\": [";
  for (const TensorSpec& tensor : tensors)
    text += format("{}\n  {{\"name\": {}, \"dtype\": \"{}\", \"shape\": {}}}",
                   &tensor == tensors.data() ? "" : ",", json::in_quotes(tensor.name),
                   dtype_name(tensor.dtype), describe(tensor.shape));
  return text + "]";
}

std::vector<DataFile> files_from(const json::Fields& root) {
  std::vector<DataFile> files;
  std::set<std::string> names;
  for (const json::element value : root.list("files")) {
    files.push_back(file_from({value, format("files[{}]", files.size())}));
    if (!names.insert(files.back().name).second)
      throw DataError(format("the file {} is listed twice", files.back().name));
  }
  return files;
}

std::vector<TensorSpec> tensors_from(const json::Fields& root) {
  std::vector<TensorSpec> tensors;
  for (const json::element value : root.list("tensors")) {
    TensorSpec tensor = tensor_from({value, format("tensors[{}]", tensors.size())});
    if (!tensors.empty() && tensor.name <= tensors.back().name)
      throw DataError(
          format("tensor {} is there twice or out of order", json::in_quotes(tensor.name)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace shoal::state
