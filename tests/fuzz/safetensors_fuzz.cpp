// Any bytes as a safetensors file and as the index of several: read or refused with a DataError. The
// tensors of what can be read fill the file without a gap, and are the same when written and read
// again.
//
// A length that fits is hard to guess: what does not begin with one is read as a header up to its
// last brace, and the tensors behind it.

#include <set>
#include <string>
#include <string_view>

#include "shoal/core/error.h"
#include "shoal/state/safetensors.h"
#include "shoal/state/safetensors_index.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::state;  // NOLINT(google-build-using-namespace)
using shoal::tests::read_or_refuse;
using shoal::tests::require;

std::string with_length(std::string_view input) {
  const size_t brace = input.rfind('}');
  const uint64_t length = brace == std::string_view::npos ? input.size() : brace + 1;
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>(length >> (8 * i) & 0xff);
  return file.append(input);
}

void check_file(std::string_view file) {
  const auto header =
      read_or_refuse([&] { return read_safetensors_header(file, file.size(), "x"); });
  if (!header) return;
  std::vector<TensorSpec> specs;
  std::set<std::string> names;
  uint64_t bytes = 0;
  for (const TensorInfo& tensor : header->tensors) {
    require(tensor.bytes == tensor_bytes(tensor.dtype, tensor.shape));
    require(tensor.at + tensor.bytes <= file.size());
    require(names.insert(tensor.name).second);
    specs.push_back(tensor);
    bytes += tensor.bytes;
  }
  require(bytes <= file.size());
  const std::string again =
      safetensors_header(specs, header->metadata) + std::string(file.substr(file.size() - bytes));
  const SafetensorsHeader reread = read_safetensors_header(again, again.size(), "again");
  require(reread.metadata == header->metadata);
  // Empty tensors at one place may change theirs.
  require(reread.tensors.size() == header->tensors.size());
  for (const TensorInfo& tensor : reread.tensors) {
    require(names.count(tensor.name) == 1);
    require(tensor.at + tensor.bytes <= again.size());
  }
}

void check_index(std::string_view json) {
  const auto index = read_or_refuse([&] { return read_safetensors_index(json, "x"); });
  if (!index) return;
  for (const auto& [tensor, file] : index->weight_map) {
    require(is_tensor_name(tensor));
    require(file.find('/') == std::string::npos && file.find("..") != 0 && !file.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_file(input);
  check_file(with_length(input));
  check_index(input);
  return 0;
}
