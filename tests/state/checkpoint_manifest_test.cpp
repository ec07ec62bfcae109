#include "shoal/state/checkpoint_manifest.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/state/part_header.h"
#include "shoal/state/part_report.h"

#include "tests/support/error_text.h"

namespace shoal::state {
namespace {

using ::testing::HasSubstr;
using tests::error_text;

constexpr const char* kId = "00112233445566778899aabbccddeeff";

CheckpointManifest good() {
  return {.id = kId,
          .step = 200,
          .values = {{"seed", "7"}},
          .files = {{"rank-00000-00000.safetensors", 116, 100, {.low = 0xc0ffee, .high = 1}},
                    {"rank-00001-00000.safetensors", 114, 100, {.low = 0xbeef, .high = 2}}},
          .tensors = {
              {"a", DType::kF32, {2, 3}}, {"b", DType::kBf16, {3}}, {"none", DType::kI64, {0, 5}}}};
}

// What somebody who knows the format would write.
std::string with_digest(std::string text) {
  const size_t at = text.size() - 32 - 3;
  return text.replace(at, 32, xxh3_128(std::string_view(text).substr(0, at)).hex());
}

std::string refusal_of_manifest(const std::string& text) {
  return error_text<DataError>([&] { (void)manifest_from_json(text, "m.json"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CheckpointManifestText, ComesBack) {
  EXPECT_EQ(manifest_from_json(to_json(good()), "m.json"), good());
}

// The text of version 2 as it was on the day it was fixed: every later shoal reads it.
TEST(CheckpointManifestText, OfVersion2IsRead) {
  const std::string text =
      R"({"format": "shoal checkpoint", "version": 2, "id": "00112233445566778899aabbccddeeff", "step": 5,
 "values": {
  "seed": "7"},
 "files": [
  {"file": "rank-00000-00000.safetensors", "bytes": 4102, "header_bytes": 4096, "header_digest": "00000000deadbeef0000000000c0ffee"}],
 "tensors": [
  {"name": "b", "dtype": "BF16", "shape": [3]}],
 "digest": "DIGEST"}
)";
  const CheckpointManifest expected{.id = kId,
                                    .step = 5,
                                    .values = {{"seed", "7"}},
                                    .files = {{"rank-00000-00000.safetensors",
                                               4102,
                                               4096,
                                               {.low = 0xc0ffee, .high = 0xdeadbeef}}},
                                    .tensors = {{"b", DType::kBf16, {3}}}};
  const std::string whole = replaced(text, "DIGEST", "ed3833703fab96db4ec54e5c2ce79e61");
  EXPECT_EQ(manifest_from_json(whole, "m.json"), expected);
  EXPECT_EQ(to_json(expected), whole);
}

TEST(CheckpointManifestText, IsRefusedWhenTornOrDamaged) {
  const std::string text = to_json(good());
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_THAT(refusal_of_manifest(text.substr(0, size)),
                HasSubstr("m.json: it does not end with"))
        << size;
  std::string damaged = text;
  damaged[text.find("200")] = '3';
  EXPECT_THAT(refusal_of_manifest(damaged),
              HasSubstr("m.json: it is damaged: its digest does not hold"));
  EXPECT_THAT(refusal_of_manifest(text + "\n"), HasSubstr("does not end with its digest"));
}

TEST(CheckpointManifestText, IsRefusedWhenItLies) {
  const std::vector<std::array<const char*, 3>> cases = {
      {"shoal checkpoint", "shoal tokens", "not the manifest of a checkpoint"},
      {"\"version\": 2", "\"version\": 1", "of version 1, this shoal reads 2"},
      {"\"version\": 2", "\"version\": 3", "of version 3, this shoal reads 2"},
      {kId, "00112233445566778899aabbccddeef", "id is not made of 32 hex digits"},
      {kId, "00112233445566778899AABBCCDDEEFF", "id is not made of 32 hex digits"},
      {"\"step\": 200", "\"step\": 1000000000000000", "at most 999999999999999"},
      {"\"step\": 200", "\"step\": -1", "step is not a whole number"},
      {"\"seed\": \"7\"", "\"seed\": 7", "values.seed is not a text"},
      {"\"seed\": \"7\"", "\"seed\": \"7\", \"seed\": \"8\"", "'seed' twice"},
      {"rank-00000-00000.safetensors", "../x", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", "/etc/passwd", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", ".hidden", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", "manifest.json", "not the name of a file of tensors"},
      {"rank-00000-00000.safetensors", "rank-00001-00000.safetensors", "is listed twice"},
      {"\"bytes\": 116", "\"bytes\": 281474976710656", "at most 281474976710655"},
      {"\"header_bytes\": 100", "\"header_bytes\": 117", "header_bytes is 117, but at most 116"},
      {"0000000000c0ffee", "0000000000c0ffe", "32 hex digits"},
      {"0000000000c0ffee", "0000000000c0ffeg", "32 hex digits"},
      {"\"name\": \"a\"", "\"name\": \"\"", "name has 0 bytes"},
      {"\"name\": \"a\"", "\"name\": \"b\"", "twice or out of order"},
      {"\"F32\"", "\"F4\"", "dtype is none that shoal knows"},
      {"[2, 3]", "[2, 281474976710655]", "is too large"},
      {"[2, 3]", "[2, -3]", "shape is not a whole number"},
      {"[2, 3]", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", "more than 16 dimensions"},
      {"\"tensors\": [", "\"tensors\": [[[[[[[[[[[[[[[[[[", "this is no JSON"},
  };
  for (const auto& [from, to, why] : cases)
    EXPECT_THAT(refusal_of_manifest(with_digest(replaced(to_json(good()), from, to))),
                HasSubstr(why))
        << from << " -> " << to;
}

// Two pieces: a whole tensor, and a part of a larger one that takes two chunks.
std::vector<PieceInFile> good_pieces() {
  std::vector<PieceInFile> pieces(2);
  static_cast<PieceSpec&>(pieces[0]) = {{"b", DType::kBf16, {3}}, {{0}, {3}}};
  pieces[0].crc32c = {0xc0ffee};
  static_cast<PieceSpec&>(pieces[1]) = {{"a", DType::kU8, {3, 600'011}}, {{1, 11}, {2, 600'000}}};
  pieces[1].crc32c = {1, 0xdeadbeef};
  pieces[0].at = part_header(kId, pieces).size();
  pieces[1].at = pieces[0].at + 6;
  return pieces;
}

TEST(PartHeader, ComesBackAndHasOneSizeWhateverTheSums) {
  std::vector<PieceInFile> pieces = good_pieces();
  const std::string header = part_header(kId, pieces);
  EXPECT_EQ(header.size(), 4096U);
  EXPECT_EQ(read_part_header(header, header.size() + 1'200'006, kId, "f"), pieces);
  for (PieceInFile& piece : pieces) piece.crc32c.clear();
  EXPECT_EQ(part_header(kId, pieces).size(), header.size());
}

TEST(PartHeader, IsRefusedWhenItLies) {
  const std::string header = part_header(kId, good_pieces());
  const auto refusal = [](const std::string& text, uint64_t more = 1'200'006) {
    return error_text<DataError>(
        [&] { (void)read_part_header(text, text.size() + more, kId, "f"); });
  };
  EXPECT_THAT(refusal(header, 1'200'005), HasSubstr("f: its tensors end at"));
  EXPECT_THAT(refusal(header.substr(0, 4095)), HasSubstr("f: its header has"));
  const std::vector<std::array<const char*, 3>> cases = {
      {"shoal checkpoint", "other checkpoint", "no part of a checkpoint"},
      {kId, "00112233445566778899aabbccddeefe", "a part of another checkpoint"},
      {"[3] 00c0ffee", "[4] 00c0ffee", "\"b\" is no piece"},
      {"[3] 00c0ffee", "[3] 00c0ffeg", "\"b\" is no piece"},
      {"[3] 00c0ffee", "[3]  0c0ffee", "\"b\" is no piece"},
      {"[3, 600011] ", "[2, 600011] ", "is no piece"},
      {"[3, 600011] ", "[3,600011]  ", "is no piece"},
      {"[3, 600011] ", "[3, 060011] ", "is no piece"},
      {"[3, 600011] 00000001", "[3, 600011]         ", "is no piece"},
  };
  for (const auto& [from, to, why] : cases)
    EXPECT_THAT(refusal(replaced(header, from, to)), HasSubstr(why)) << from << " -> " << to;
  // The name of a piece, which stands there twice.
  for (const char* name : {"a[1:3,11:600012]", "a[2:4,11:600011]", "a[1:3;11:600011]",
                           "a[1:3,11:60001x]", "a[1:3,11:6000111", "b[1:3,11:600011]"}) {
    const std::string text =
        replaced(replaced(header, "a[1:3,11:600011]", name), "a[1:3,11:600011]", name);
    const std::string why = refusal(text);
    if (name[0] == 'a') {
      EXPECT_THAT(why, HasSubstr("is no piece")) << name;
    } else {
      EXPECT_THAT(why, HasSubstr("no error"));  // of another tensor: the manifest knows its shape
    }
  }
}

TEST(PartReportText, ComesBackOrIsRefused) {
  PartReport report;
  for (const PieceInFile& piece : good_pieces()) report.add(piece);
  report.add({{"a", DType::kU8, {3, 600'011}}, {{0, 0}, {1, 600'011}}});
  report.files = good().files;
  EXPECT_EQ(report.tensors.size(), 2U);
  EXPECT_EQ(report.written.size(), 2U);
  const std::string text = to_json(report);
  EXPECT_EQ(part_report_from_json(text, "r"), report);
  const auto refusal = [](const std::string& json) {
    return error_text<DataError>([&] { (void)part_report_from_json(json, "rank 3"); });
  };
  EXPECT_THAT(refusal(replaced(text, "\"written\": \"", "\"written\": \"0")),
              HasSubstr("rank 3: report.written is not made of three numbers"));
  const size_t first_digit = text.find("\"written\": \"") + 12;
  EXPECT_THAT(refusal(std::string(text).replace(first_digit, 1, "x")),
              HasSubstr("not made of hex digits"));
}

}  // namespace
}  // namespace shoal::state
