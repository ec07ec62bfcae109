// Any bytes as the manifest of a checkpoint, with a digest that holds, and as a rank's list: read or
// refused with a DataError. What can be read is the same when it is written and read again.

#include <string>
#include <string_view>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/state/checkpoint_manifest.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::state;  // NOLINT(google-build-using-namespace)
using shoal::tests::read_or_refuse;
using shoal::tests::require;

// Behind the fields of an object, whose last brace is left out: nobody guesses a digest.
std::string with_digest(std::string_view input) {
  std::string text(input.substr(0, input.rfind('}')));
  text += ",\n \"digest\": \"";
  return text + shoal::xxh3_128(text).hex() + "\"}\n";
}

void check_manifest(const std::string& json) {
  const auto manifest = read_or_refuse([&] { return manifest_from_json(json, "m"); });
  if (!manifest) return;
  require(manifest_from_json(to_json(*manifest), "again") == *manifest);
  for (const TensorEntry& tensor : manifest->parts.tensors) {
    uint64_t elements = 0;
    for (const PieceEntry& piece : tensor.pieces) {
      require(is_inside(piece.box, tensor.shape));
      require(piece.at + piece_bytes(tensor, piece) <= manifest->parts.files[piece.file].bytes);
      elements += elements_of(piece.box);
    }
    require(elements == elements_of(whole_of(tensor.shape)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_manifest(std::string(input));
  check_manifest(with_digest(input));
  const auto parts = read_or_refuse([&] { return part_list_from_json(input, "p"); });
  if (parts) require(part_list_from_json(to_json(*parts), "again") == *parts);
  return 0;
}
