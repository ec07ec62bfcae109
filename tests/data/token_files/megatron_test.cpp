#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/token_files/written.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int32_t kLargeLength = std::numeric_limits<int32_t>::max();
constexpr int64_t kLargeOffset = std::numeric_limits<int64_t>::max();
constexpr uint64_t kLargeCount = std::numeric_limits<uint64_t>::max();

// Three documents of five sequences: {1 2 3 | | 4}, {}, {5 6 |}. With ids of `id_bytes`.
MegatronIndex small_index(uint8_t type, int64_t id_bytes) {
  return {.type = type,
          .lengths = {3, 0, 1, 2, 0},
          .offsets = {0, 3 * id_bytes, 3 * id_bytes, 4 * id_bytes, 6 * id_bytes},
          .borders = {0, 3, 3, 5}};
}

std::unique_ptr<TokenFileReader> read(const std::string& index, const std::string& ids) {
  return read_megatron({"x.idx", index}, {"x.bin", ids}, {.vocab_size = 100});
}

template <class Number>
void expect_small_file(uint8_t type) {
  const std::string index = small_index(type, sizeof(Number)).bytes();
  const std::string ids = packed<Number>({1, 2, 3, 4, 5, 6});
  for (const size_t max : {1, 2, 3, 4, 100}) {
    const auto reader = read(index, ids);
    EXPECT_EQ(reader->tokens(), 6U);
    EXPECT_EQ(documents_of(*reader, max), (Documents{{1, 2, 3, 4}, {}, {5, 6}}))
        << "type " << int{type} << " in parts of " << max;
  }
}

TEST(MegatronFile, ReadsEveryIntegerType) {
  expect_small_file<uint8_t>(1);
  expect_small_file<int8_t>(2);
  expect_small_file<int16_t>(3);
  expect_small_file<int32_t>(4);
  expect_small_file<int64_t>(5);
  expect_small_file<uint16_t>(8);
}

TEST(MegatronFile, TakesModesOfTextAndAnyOrderOfSequences) {
  MegatronIndex index = small_index(8, 2);
  index.modes = std::string(5, '\0');
  index.offsets = {6, 0, 2, 8, 14};  // behind each other in another order, with gaps
  const std::string ids = packed<uint16_t>({0, 4, 0, 1, 2, 3, 0});
  const std::string index_bytes = index.bytes();  // the reader keeps a view
  const auto reader = read(index_bytes, ids);
  EXPECT_EQ(documents_of(*reader, 100), (Documents{{1, 2, 3, 4}, {}, {2, 3}}));
}

TEST(MegatronFile, MayBeEmpty) {
  const std::string index = MegatronIndex{.borders = {0}}.bytes();
  const auto reader = read(index, "");
  EXPECT_EQ(reader->tokens(), 0U);
  EXPECT_EQ(documents_of(*reader, 1), Documents{});
}

const std::string kSmallIds = packed<uint16_t>({1, 2, 3, 4, 5, 6});

std::string index_refusal(const std::string& index) {
  return refusal([&] { return read(index, kSmallIds); });
}

TEST(MegatronFile, RefusesEveryTruncation) {
  MegatronIndex with_modes = small_index(8, 2);
  with_modes.modes = std::string(5, '\0');
  const std::string whole = with_modes.bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size == whole.size() - 5) continue;  // an index without modes
    EXPECT_THAT(index_refusal(whole.substr(0, size)), HasSubstr("x.idx")) << size << " bytes";
  }
  EXPECT_THAT(index_refusal(whole + "x"), HasSubstr("x.idx has 1 bytes behind its end"));
  for (size_t size = 0; size < kSmallIds.size(); ++size) {
    EXPECT_THAT(refusal([&] { return read(whole, kSmallIds.substr(0, size)); }), HasSubstr("x.bin"))
        << size << " bytes";
  }
}

TEST(MegatronFile, RefusesWrongIndices) {
  struct Case {
    void (*damage)(MegatronIndex&);
    const char* message;
  };
  using I = MegatronIndex;
  const std::vector<Case> cases = {
      {[](I& i) { i.magic[8] = 1; }, "x.idx does not begin with MMIDIDX"},
      {[](I& i) { i.magic = std::string("TNTIDX\0\0", 8); }, "x.idx does not begin with MMIDIDX"},
      {[](I& i) { i.version = 2; }, "x.idx has version 2"},
      {[](I& i) { i.version = kLargeCount; }, "x.idx has version 18446744073709551615"},
      {[](I& i) { i.type = 0; }, "x.idx has numbers of type 0"},
      {[](I& i) { i.type = 9; }, "x.idx has numbers of type 9"},
      {[](I& i) { i.type = 6; }, "x.idx says that its numbers are floating point"},
      {[](I& i) { i.type = 7; }, "x.idx says that its numbers are floating point"},
      {[](I& i) { i.sequences = kLargeCount; }, "x.idx ends inside its lengths"},
      {[](I& i) { i.sequences = (uint64_t{1} << 62) + 5; }, "x.idx ends inside its lengths"},
      {[](I& i) { i.sequences = 13; }, "x.idx ends inside its offsets"},
      {[](I& i) { i.num_borders = kLargeCount; }, "x.idx ends inside its document borders"},
      {[](I& i) { i.num_borders = (uint64_t{1} << 61) + 4; },
       "x.idx ends inside its document borders"},
      {[](I& i) { i.borders = {}; }, "x.idx has no document borders"},
      {[](I& i) {
         i.borders = {1, 3, 3, 5};
       },
       "begin at sequence 1 instead of 0"},
      {[](I& i) {
         i.borders = {0, 3, 2, 5};
       },
       "document 1 end at sequence 2, before it begins at 3"},
      {[](I& i) {
         i.borders = {0, -1, 3, 5};
       },
       "document 0 end at sequence -1, before"},
      {[](I& i) {
         i.borders = {0, 3, 3, 4};
       },
       "end at sequence 4, but there are 5"},
      {[](I& i) {
         i.borders = {0, 3, 3, 6};
       },
       "end at sequence 6, but there are 5"},
      {[](I& i) { i.lengths[0] = -1; },
       "x.idx has -1 ids of 2 bytes from byte 0 on for sequence 0"},
      {[](I& i) { i.lengths[3] = 3; }, "3 ids of 2 bytes from byte 8 on for sequence 3, but x.bin"},
      {[](I& i) { i.lengths[3] = kLargeLength; }, "2147483647 ids of 2 bytes from byte 8"},
      {[](I& i) { i.offsets[3] = -2; }, "from byte -2 on for sequence 3"},
      {[](I& i) { i.offsets[3] = 7; }, "from byte 7 on for sequence 3"},
      {[](I& i) { i.offsets[3] = 10; }, "from byte 10 on for sequence 3"},
      {[](I& i) { i.offsets[4] = 14; }, "0 ids of 2 bytes from byte 14 on for sequence 4"},
      {[](I& i) { i.offsets[3] = kLargeOffset - 1; }, "from byte 9223372036854775806 on"},
      {[](I& i) { i.lengths[4] = 1, i.offsets[4] = 0; }, "x.idx has more ids in its sequences"},
      {[](I& i) { i.modes = std::string("\0\0\1\0\0", 5); }, "x.idx has mode 1 for sequence 2"},
      {[](I& i) { i.modes = std::string(4, '\0'); }, "x.idx ends inside its modes"},
  };
  for (const Case& c : cases) {
    MegatronIndex index = small_index(8, 2);
    c.damage(index);
    EXPECT_THAT(index_refusal(index.bytes()), AllOf(HasSubstr("x.idx"), HasSubstr(c.message)));
  }
}

TEST(MegatronFile, RefusesIdsThatAreNegativeOrTooLarge) {
  const auto ids_refusal = [](uint8_t type, int64_t id_bytes, const std::string& ids) {
    const std::string index = small_index(type, id_bytes).bytes();  // the reader keeps a view
    return refusal([&] { return read(index, ids); });
  };
  EXPECT_THAT(ids_refusal(2, 1, packed<int8_t>({1, -2, 3, 4, 5, 6})),
              HasSubstr("id -2 at token 1 of x.bin is negative"));
  EXPECT_THAT(ids_refusal(4, 4, packed<int32_t>({1, 2, 3, 4, 5, -6})),
              HasSubstr("id -6 at token 5 of x.bin is negative"));
  EXPECT_THAT(
      ids_refusal(5, 8, packed<int64_t>({1, 2, 3, 4, std::numeric_limits<int64_t>::min(), 6})),
      HasSubstr("id -9223372036854775808 at token 4 of x.bin is negative"));
  EXPECT_THAT(ids_refusal(5, 8, packed<int64_t>({1, 2, 3, (int64_t{1} << 32) + 4, 5, 6})),
              HasSubstr("id 4294967300 at token 3 of x.bin is not below the vocabulary's 100"));
  EXPECT_THAT(ids_refusal(8, 2, packed<uint16_t>({1, 2, 3, 4, 5, 100})),
              HasSubstr("id 100 at token 5 of x.bin is not below the vocabulary's 100"));
}

}  // namespace
}  // namespace shoal::data
