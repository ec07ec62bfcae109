// Any bytes as the data file of a checkpoint, under a manifest that knows its header's digest, and as the packed
// index that ranks send each other: read or refused with a DataError. Pieces that are read lie in their tensors
// and in the file.

#include <string>
#include <string_view>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/state/part_header.h"
#include "shoal/state/piece_index.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::state;  // NOLINT(google-build-using-namespace)
using shoal::tests::read_or_refuse;
using shoal::tests::require;

constexpr const char* kId = "00112233445566778899aabbccddeeff";

// The length that nobody guesses stands before the input.
std::string with_length(std::string_view json) {
  std::string header;
  for (size_t i = 0; i < 8; ++i) header += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return header.append(json);
}

void check_header(const std::string& header, uint64_t file_bytes) {
  const auto pieces =
      read_or_refuse([&] { return read_part_header(header, file_bytes, kId, "f"); });
  if (!pieces) return;
  CheckpointManifest manifest{.id = kId};
  manifest.files = {{"f", file_bytes, header.size(), shoal::xxh3_128(header)}};
  for (const PieceInFile& piece : *pieces) {
    require(is_inside(piece.box, piece.shape));
    require(elements_of(piece.box) > 0);
    require(piece.at + piece_bytes(piece) <= file_bytes);
    require(piece.crc32c.size() == chunks_of(piece_bytes(piece)));
    if (manifest.tensors.empty() || manifest.tensors.back().name < piece.name)
      manifest.tensors.push_back(piece);
  }
  const auto index = read_or_refuse([&] {
    PieceIndex made(manifest);
    made.add_file(0, header, "f");
    return made;
  });
  if (!index) return;
  require(index->pieces() == pieces->size());
  PieceIndex again(manifest);
  again.add_packed(index->packed());
  require(again.packed() == index->packed());
}

void check_packed(std::string_view text) {
  const CheckpointManifest manifest{
      .id = kId,
      .files = {{"f", 5000, 4096, {}}, {"g", 4097, 4096, {}}},
      .tensors = {{"a", DType::kU8, {}}, {"b", DType::kF32, {5, 7}}, {"c", DType::kBf16, {11}}}};
  const auto index = read_or_refuse([&] {
    PieceIndex made(manifest);
    made.add_packed(text);
    made.sort();
    return made;
  });
  if (!index) return;
  for (size_t tensor = 0; tensor < manifest.tensors.size(); ++tensor) {
    index->for_each(tensor, [&](const PieceIndex::Place& place, const shoal::Box& box) {
      require(is_inside(box, manifest.tensors[tensor].shape));
      require(place.file < manifest.files.size() && place.at < manifest.files[place.file].bytes);
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_packed(input);
  const std::string header = with_length(input);
  // Two sizes of files that the header may mean: without data, and with what its first bytes say.
  check_header(header, header.size());
  if (size > 2)
    check_header(with_length(input.substr(2)), size + 6 + data[0] + (uint64_t{data[1]} << 8));
  return 0;
}
