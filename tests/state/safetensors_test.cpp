#include "shoal/state/safetensors.h"

#include <cstring>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file with this header, `length` as its length and `data` behind it.
std::string file_of(const std::string& json, const std::string& data, uint64_t length) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + json + data;
}

std::string file_of(const std::string& json, const std::string& data = "") {
  return file_of(json, data, json.size());
}

std::string refusal_of(const std::string& file) {
  return error_text<DataError>(
      [&] { (void)read_safetensors_header(file, file.size(), "x.safetensors"); });
}

// The refusal of a file with one tensor "a" that has this entry.
std::string refusal_of_entry(const std::string& entry, const std::string& data = "12345678") {
  return refusal_of(file_of(R"({"a":)" + entry + "}", data));
}

TEST(DTypeNames, AreTheLibrarysAndComeBack) {
  for (size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_name(DType::kBf16), "BF16");
  EXPECT_EQ(element_bytes(DType::kBf16), 2U);
  EXPECT_EQ(dtype_named("bf16"), std::nullopt);
  EXPECT_EQ(dtype_named("F4"), std::nullopt);
}

TEST(CheckedBytes, RefusesWhatOverflows) {
  EXPECT_EQ(checked_bytes(DType::kF32, {}), 4U);
  EXPECT_EQ(checked_bytes(DType::kF32, {3, 5}), 60U);
  EXPECT_EQ(checked_bytes(DType::kF32, {3, 0, 5}), 0U);
  EXPECT_EQ(checked_bytes(DType::kF32, {-1}), std::nullopt);
  EXPECT_EQ(checked_bytes(DType::kU8, {int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  EXPECT_EQ(checked_bytes(DType::kU8, {0, int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  EXPECT_EQ(checked_bytes(DType::kF64, {int64_t{1} << 45}), std::nullopt);
  EXPECT_EQ(checked_bytes(DType::kU8, Shape(16, 1)), 1U);
  EXPECT_EQ(checked_bytes(DType::kU8, Shape(17, 1)), std::nullopt);
}

TEST(Safetensors, WritesAndReadsOddTensors) {
  const TempDir dir;
  {
    SafetensorsWriter writer(dir / "x",
                             {{"odd", DType::kU8, {3}},
                              {"scalar", DType::kF64, {}},
                              {"none", DType::kF32, {7, 0}},
                              {"half", DType::kBf16, {1, 3}},
                              {"brain", DType::kBf16, {1}},
                              {"é\n\"", DType::kBool, {1}}},
                             {{"format", "pt"}, {"a", "b"}});
    writer.write("half", bytes_of("abc"));  // in any order and cut anywhere
    writer.write("odd", bytes_of("123"));
    writer.write("half", bytes_of("def"));
    writer.write("é\n\"", bytes_of("\1"));
    writer.write("scalar", bytes_of("12345678"));
    writer.write("none", {});
    writer.write("brain", bytes_of("xy"));
    EXPECT_FALSE(std::filesystem::exists(dir / "x"));
    writer.finish();
  }
  const Safetensors opened(dir / "x");
  Safetensors file = Safetensors(dir / "x");
  file = Safetensors(dir / "x");  // moved
  std::vector<std::string> names;
  for (const TensorInfo& tensor : file.tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("scalar", "none", "brain", "half", "odd", "é\n\""));
  EXPECT_EQ(text_of(file.bytes(*file.find("half"))), "abcdef");
  EXPECT_EQ(text_of(file.bytes(*file.find("odd"))), "123");
  EXPECT_EQ(text_of(file.bytes(*file.find("scalar"))), "12345678");
  EXPECT_EQ(file.find("none")->shape, (Shape{7, 0}));
  EXPECT_EQ(file.bytes(*file.find("none")).size(), 0U);
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_EQ(file.metadata(), (Metadata{{"a", "b"}, {"format", "pt"}}));
  EXPECT_EQ(file.tensors().front().at % 8, 0U);
  struct stat status {};
  ASSERT_EQ(::stat((dir / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777 & ~0640U, 0U);
}

TEST(Safetensors, HasNoTensorsToo) {
  const TempDir dir;
  SafetensorsWriter(dir / "x", {}).finish();
  EXPECT_EQ(read_file(dir / "x", 100), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(Safetensors(dir / "x").tensors().empty());
}

TEST(Safetensors, AWriterThatDoesNotFinishLeavesNothing) {
  const TempDir dir;
  write_file_atomically(dir / "x", "old");
  write_file_atomically(dir / "x.unfinished", "of a process that was killed");
  {
    SafetensorsWriter writer(dir / "x", {{"a", DType::kU8, {3}}});
    writer.write("a", bytes_of("12"));
    EXPECT_THAT(error_text<BugError>([&] { writer.finish(); }),
                HasSubstr("tensor 'a' still needs 1 bytes"));
    EXPECT_THAT(error_text<BugError>([&] { writer.write("a", bytes_of("34")); }),
                HasSubstr("tensor 'a' gets 2 bytes, but needs only 1"));
    EXPECT_THAT(error_text<BugError>([&] { writer.write("b", {}); }),
                HasSubstr("tensor 'b' was not in the list"));
  }
  EXPECT_THAT(
      error_text<BugError>([&] {
        const SafetensorsWriter writer(dir / "x", {{"a", DType::kU8, {}}, {"a", DType::kF32, {}}});
      }),
      HasSubstr("tensor 'a' is listed twice"));
  EXPECT_EQ(read_file(dir / "x", 10), "old");
  EXPECT_FALSE(std::filesystem::exists(dir / "x.unfinished"));
}

TEST(Safetensors, RefusesLengthsThatLie) {
  EXPECT_THAT(refusal_of(""), HasSubstr("x.safetensors: it has 0 bytes, too few"));
  EXPECT_THAT(refusal_of("1234567"), HasSubstr("it has 7 bytes, too few"));
  EXPECT_THAT(refusal_of(file_of("{}", "", 3)), HasSubstr("header has 3 bytes, but the file only"));
  EXPECT_THAT(refusal_of(file_of("{}", "", 100'000'001)), HasSubstr("at most 100000000"));
  EXPECT_THAT(refusal_of(file_of("{}", "", UINT64_MAX)), HasSubstr("at most 100000000"));
  EXPECT_THAT(refusal_of(file_of("{}", "", 0)), HasSubstr("does not begin with {"));
  EXPECT_THAT(refusal_of(file_of("{}", "x")), HasSubstr("its tensors end at 10, but the file"));
}

TEST(Safetensors, RefusesHeadersThatAreNoHeaders) {
  EXPECT_THAT(refusal_of(file_of("[]")), HasSubstr("does not begin with {"));
  EXPECT_THAT(refusal_of(file_of("    ")), HasSubstr("does not begin with {"));
  EXPECT_THAT(refusal_of(file_of("{}{}")), HasSubstr("this is no JSON"));
  EXPECT_THAT(refusal_of(file_of("{")), HasSubstr("this is no JSON"));
  EXPECT_THAT(refusal_of(file_of("{\"\xff\":{}}")), HasSubstr("this is no JSON"));
  EXPECT_THAT(refusal_of(file_of("{}//")), HasSubstr("byte 0x2f at 2, outside any text"));
  EXPECT_THAT(refusal_of(file_of("{\"\\\"/\":/}")), HasSubstr("byte 0x2f at 7"));
  EXPECT_THAT(refusal_of(file_of("{}" + std::string(1, '\0'))), HasSubstr("byte 0x00 at 2"));
  EXPECT_THAT(refusal_of(file_of("\xef\xbb\xbf{}")), HasSubstr("does not begin with {"));
  EXPECT_THAT(refusal_of(file_of(R"({"a":{"b":{"c":{"d":{"e":1}}}}})")), HasSubstr("too deep"));
  EXPECT_EQ(refusal_of(file_of(" \n{}\r\t ")), "(no error of the expected type was thrown)");
}

TEST(Safetensors, RefusesNamesTwice) {
  const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(refusal_of(file_of(R"({"a":)" + empty + R"(,"a":)" + empty + "}")),
              HasSubstr("it has tensor \"a\" twice"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":{},"__metadata__":{}})")),
              HasSubstr("__metadata__ twice"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":{"k":"1","k":"2"}})")),
              HasSubstr("__metadata__ has the key 'k' twice"));
  EXPECT_THAT(refusal_of_entry(R"({"dtype":"U8","dtype":"I8","shape":[8],"data_offsets":[0,8]})"),
              HasSubstr("has the key 'dtype' twice"));
}

TEST(Safetensors, RefusesEntriesThatDoNotFit) {
  EXPECT_EQ(refusal_of_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
            "(no error of the expected type was thrown)");
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "needs 12 bytes, but its place is 0"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "its place is 8 to 0"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[1,9]})", "begins at 1 of the data"},
      {R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "tensors end at"},
      {R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})", "tensors end at"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})", "are not two numbers"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "are not two numbers"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":8})", "is not a list"},
      {R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", "is not a list"},
      {R"({"dtype":"F32","shape":["2"],"data_offsets":[0,8]})", "shape is not a whole number"},
      {R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "byte 0x2d"},
      {R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "byte 0x2e"},
      {R"({"dtype":"F32","shape":[2e0],"data_offsets":[0,8]})", "byte 0x65"},
      {R"({"dtype":"F32","shape":[02],"data_offsets":[0,8]})", "this is no JSON"},
      {R"({"dtype":"F32","shape":null,"data_offsets":[0,8]})", "byte 0x6e"},
      {R"({"dtype":"F32","shape":[281474976710656],"data_offsets":[0,8]})", "at most"},
      {R"({"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8]})", "no JSON"},
      {R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})", "is too large"},
      {R"({"dtype":"F4","shape":[16],"data_offsets":[0,8]})", "of type \"F4\""},
      {R"({"dtype":"f32","shape":[2],"data_offsets":[0,8]})", "of type \"f32\""},
      {R"({"dtype":5,"shape":[2],"data_offsets":[0,8]})", "is not a text"},
      {R"({"dtype":"F32","shape":[2]})", "other keys than"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})", "other keys than"},
      {R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]})",
       "more than 16 dimensions"},
      {R"([])", "is not an object"},
  };
  for (const auto& [entry, why] : cases) {
    EXPECT_THAT(refusal_of_entry(entry), HasSubstr(why)) << entry;
  }
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  const auto two = [](int begin, int end) {
    return file_of(format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},)"
                          R"("b":{{"dtype":"U8","shape":[4],"data_offsets":[{},{}]}}}})",
                          begin, end),
                   "12345678");
  };
  EXPECT_EQ(refusal_of(two(4, 8)), "(no error of the expected type was thrown)");
  EXPECT_THAT(refusal_of(two(3, 7)),
              HasSubstr("tensor \"b\" begins at 3 of the data, but the one"));
  EXPECT_THAT(refusal_of(two(5, 9)), HasSubstr("begins at 5 of the data"));
  EXPECT_THAT(refusal_of(two(0, 4)), HasSubstr("begins at 0 of the data"));
}

TEST(Safetensors, RefusesNamesAndMetadataThatHideSomething) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const auto named = [&](const std::string& name) {
    return refusal_of(file_of("{\"" + name + "\":" + entry + "}"));
  };
  EXPECT_EQ(named(std::string(1024, 'n')), "(no error of the expected type was thrown)");
  EXPECT_THAT(named(std::string(1025, 'n')), HasSubstr("1 to 1024 are allowed"));
  EXPECT_THAT(named(""), HasSubstr("1 to 1024 are allowed"));
  EXPECT_THAT(named("a\\u0000b"), HasSubstr("or a zero byte"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":{"a":1}})")), HasSubstr("is not a text"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":{"a":{}}})")), HasSubstr("is not a text"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":[]})")), HasSubstr("is not an object"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":{"a":"\u0000"}})")), HasSubstr("zero byte"));
  EXPECT_THAT(refusal_of(file_of(R"({"__metadata__":{"a":")" + std::string(1 << 20, 'x') + "\"}}")),
              HasSubstr("more than 1048576 bytes"));
}

TEST(Safetensors, RefusesMoreTensorsThanAnybodyHas) {
  std::string json = "{";
  for (int i = 0; i <= 1'000'000; ++i)
    json +=
        format(R"({}"{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", i == 0 ? "" : ",", i);
  EXPECT_THAT(refusal_of(file_of(json + "}")), HasSubstr("more than 1000000 tensors"));
}

}  // namespace
}  // namespace shoal::state
