#include "shoal/state/checkpoint_manifest.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

#include "tests/support/error_text.h"

namespace shoal::state {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

// Two ranks, a tensor cut between them, one whole, one empty.
CheckpointManifest good() {
  CheckpointManifest manifest{.step = 200, .values = {{"seed", "7"}}};
  manifest.parts.files = {{"rank-00000-00000.safetensors", 100 + 16, 100, 0xc0ffee},
                          {"rank-00001-00000.safetensors", 100 + 8 + 6, 100, 0xbeef}};
  manifest.parts.tensors = {
      {{"a", DType::kF32, {2, 3}},
       {{0, 100, {{0, 0}, {2, 2}}, {1}}, {1, 106, {{0, 2}, {2, 1}}, {2}}}},
      {{"b", DType::kBf16, {3}}, {{1, 100, {{0}, {3}}, {3}}}},
      {{"none", DType::kI64, {0, 5}}, {}},
  };
  return manifest;
}

// What somebody who knows the format would write.
std::string with_digest(std::string text) {
  const size_t at = text.size() - 32 - 3;
  return text.replace(at, 32, xxh3_128(std::string_view(text).substr(0, at)).hex());
}

std::string refusal_of(const std::string& text) {
  return error_text<DataError>([&] { (void)manifest_from_json(text, "m.json"); });
}

// The good one with one text in it replaced, and a digest that holds.
std::string refusal_with(const std::string& from, const std::string& to) {
  std::string text = to_json(good());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return refusal_of(with_digest(text.replace(at, from.size(), to)));
}

template <class Change>
std::string refusal_after(Change change) {
  CheckpointManifest manifest = good();
  change(manifest.parts);
  return refusal_of(to_json(manifest));
}

TEST(CheckpointManifestText, ComesBack) {
  EXPECT_EQ(manifest_from_json(to_json(good()), "m.json"), good());
  EXPECT_EQ(part_list_from_json(to_json(good().parts), "p.json"), good().parts);
}

// The text of version 1 as it was on the day it was fixed: every later shoal reads it.
TEST(CheckpointManifestText, OfVersion1IsRead) {
  const std::string text =
      R"({"format": "shoal checkpoint", "version": 1, "step": 5, "chunk_bytes": 1048576,
 "values": {
  "seed": "7"},
 "files": [
  {"file": "rank-00000-00000.safetensors", "bytes": 65542, "header_bytes": 65536, "header_crc32c": "00c0ffee"}],
 "tensors": [
  {"name": "b", "dtype": "BF16", "shape": [3], "pieces": [
    {"file": 0, "at": 65536, "begin": [0], "extent": [3], "crc32c": "deadbeef"}]}],
 "digest": "DIGEST"}
)";
  CheckpointManifest expected{.step = 5, .values = {{"seed", "7"}}};
  expected.parts.files = {{"rank-00000-00000.safetensors", 65542, 65536, 0xc0ffee}};
  expected.parts.tensors = {{{"b", DType::kBf16, {3}}, {{0, 65536, {{0}, {3}}, {0xdeadbeef}}}}};
  std::string whole = text;
  whole.replace(whole.find("DIGEST"), 6, "50ddfd377948e9e1c32fadd9b06080f4");
  EXPECT_EQ(manifest_from_json(whole, "m.json"), expected);
  EXPECT_EQ(to_json(expected), whole);
}

TEST(CheckpointManifestText, IsRefusedWhenTornOrDamaged) {
  const std::string text = to_json(good());
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_THAT(refusal_of(text.substr(0, size)), HasSubstr("m.json: it does not end with"))
        << size;
  std::string damaged = text;
  damaged[text.find("200")] = '3';
  EXPECT_THAT(refusal_of(damaged), HasSubstr("m.json: it is damaged: its digest does not hold"));
  EXPECT_THAT(refusal_of(text + "\n"), HasSubstr("does not end with its digest"));
}

TEST(CheckpointManifestText, IsRefusedWhenItLies) {
  const std::vector<std::array<const char*, 3>> cases = {
      {"shoal checkpoint", "shoal tokens", "not the manifest of a checkpoint"},
      {"\"version\": 1", "\"version\": 2", "of version 2, this shoal reads 1"},
      {"\"chunk_bytes\": 1048576", "\"chunk_bytes\": 0", "chunks have 0 bytes"},
      {"\"step\": 200", "\"step\": 1000000000000000", "at most 999999999999999"},
      {"\"step\": 200", "\"step\": -1", "step is not a whole number"},
      {"\"seed\": \"7\"", "\"seed\": 7", "values.seed is not a text"},
      {"\"seed\": \"7\"", "\"seed\": \"7\", \"seed\": \"8\"", "'seed' twice"},
      {"rank-00000-00000.safetensors", "../x", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", "/etc/passwd", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", ".hidden", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", "manifest.json", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", "rank-00001-00000.safetensors", "is listed twice"},
      {"\"bytes\": 116", "\"bytes\": 117", "end at 116, but it has 117 bytes"},
      {"\"bytes\": 116", "\"bytes\": 115", "behind the end of"},
      {"\"bytes\": 116", "\"bytes\": 281474976710656", "at most 281474976710655"},
      {"\"header_bytes\": 100", "\"header_bytes\": 117", "header_bytes is 117, but at most 116"},
      {"\"header_bytes\": 100", "\"header_bytes\": 99", "begins at 100, but the one before ends"},
      {"00c0ffee", "00c0ffe", "8 hex digits"},
      {"00c0ffee", "00c0ffeg", "8 hex digits"},
      {"00c0ffee", "00c0ffee00c0ffee", "is not one"},
      {"\"name\": \"a\"", "\"name\": \"\"", "name has 0 bytes"},
      {"\"name\": \"a\"", "\"name\": \"b\"", "twice or out of order"},
      {"\"F32\"", "\"F4\"", "dtype is none that shoal knows"},
      {"[2, 3]", "[2, 281474976710655]", "is too large"},
      {"[2, 3]", "[2, 2]", "does not lie in [2, 2]"},
      {"[2, 3]", "[2]", "does not lie in [2]"},
      {"[2, 3]", "[2, 4]", "do not cover its shape [2, 4] exactly once"},
      {"\"file\": 0", "\"file\": 2", "file is 2, but at most 1"},
      {"\"at\": 106", "\"at\": 105", "begins at 105, but the one before ends at 106"},
      {"\"at\": 106", "\"at\": 107", "behind the end"},
      {"\"begin\": [0, 2]", "\"begin\": [0, 1]", "do not cover"},
      {"\"begin\": [0, 2]", "\"begin\": [0, 3]", "does not lie in"},
      {"\"extent\": [2, 1]", "\"extent\": [2, 0]", "is empty"},
      {"\"crc32c\": \"00000002\"", "\"crc32c\": \"\"", "has 8 bytes, but 0 checksums"},
      {"\"crc32c\": \"00000002\"", "\"crc32c\": \"0000000200000002\"", "but 2 checksums"},
      {"\"shape\": [0, 5]", "\"shape\": [1, 5]", "the 0 pieces of tensor \"none\" do not cover"},
      {"\"tensors\": [", "\"tensors\": [[[[[[[[[[[[[[[[[[", "this is no JSON"},
  };
  for (const auto& [from, to, why] : cases)
    EXPECT_THAT(refusal_with(from, to), HasSubstr(why)) << from << " -> " << to;
}

TEST(CheckpointManifestText, IsRefusedWhenPiecesOverlapOrLackAFile) {
  EXPECT_THAT(refusal_after([](PartList& parts) {
                // Tensor b takes the place of a's second piece, which takes b's.
                std::swap(parts.tensors[0].pieces[1].at, parts.tensors[1].pieces[0].at);
              }),
              HasSubstr("begins at 106, but the one before ends at 108"));
  EXPECT_THAT(refusal_after([](PartList& parts) { parts.files.clear(); }),
              HasSubstr("has no file to be in"));
  EXPECT_THAT(refusal_after([](PartList& parts) {
                parts.tensors[0].pieces.push_back(parts.tensors[0].pieces[0]);
              }),
              HasSubstr("begins at 100, but the one before ends at 116"));
}

}  // namespace
}  // namespace shoal::state
