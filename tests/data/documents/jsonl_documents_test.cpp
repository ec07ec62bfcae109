#include "shoal/data/documents/jsonl_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/data/documents/string_stream.h"
#include "tests/support/error_text.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Texts read(std::string_view text, JsonlOptions options, size_t at_once = SIZE_MAX) {
  const uint64_t begin = options.slice.begin;
  const std::string_view from = text.substr(begin - std::min<uint64_t>(begin, 1));
  return texts_of(*read_jsonl(std::make_unique<StringStream>(from, at_once), options, "a.jsonl"));
}

TEST(JsonlDocuments, AreTheTextsOfLines) {
  EXPECT_THAT(
      read("{\"text\": \"a\"}\n\n \r\n{\"id\": 1, \"text\": \"\\u00e9\\n\"}\r\n{\"text\": \"\"}\n"
           "{\"text\": \"b\"}",
           {}),
      ElementsAre("a", "\u00e9\n", "b"));
}

TEST(JsonlDocuments, BelongToTheSliceTheyBeginIn) {
  const std::string text = "{\"text\": \"a\"}\n{\"text\": \"bc\"}\n{\"text\": \"d\"}";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (const size_t at_once : {size_t{1}, size_t{7}, text.size()}) {
      Texts texts;
      const size_t next = std::min(cut + 15, text.size());  // as long as a line, or to the end
      for (const Slice& slice : {Slice{0, cut}, Slice{cut, next}, Slice{next, text.size()}}) {
        for (std::string& more : read(text, {.slice = slice}, at_once))
          texts.push_back(std::move(more));
      }
      EXPECT_THAT(texts, ElementsAre("a", "bc", "d")) << "cut at " << cut;
    }
  }
}

TEST(JsonlDocuments, HavePrompts) {
  EXPECT_THAT(read("{\"q\": \"1?\", \"a\": \"2\"}\n", {.fields = {.text = "a", .prompt = "q"}}),
              ElementsAre("1?|2"));
}

TEST(JsonlDocuments, RefuseLongLinesHoweverTheyAreRead) {
  const std::string text = "{\"text\": \"a\"}\n{\"text\": \"0123456789\"}\n";
  for (const size_t at_once : {size_t{1}, text.size()}) {
    EXPECT_THAT(tests::error_text<DataError>([&] { read(text, {.max_line_bytes = 20}, at_once); }),
                AllOf(HasSubstr("a.jsonl: the line at byte 14"), HasSubstr("longer than 20")));
    EXPECT_THAT(read(text, {.max_line_bytes = 22}, at_once), ElementsAre("a", "0123456789"));
  }
}

}  // namespace
}  // namespace shoal::data
