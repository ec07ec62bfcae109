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
using tests::error_text;

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

// Values that are JSON, and that simdjson has no type for.
TEST(JsonlDocuments, DependOnNoFieldButTheirOwn) {
  const std::string deep = std::string(3001, '[') + std::string(3001, ']');
  for (const std::string& other :
       {std::string("123456789012345678901234567890"), std::string("-1e999"), deep,
        std::string(R"("\ud800")"), std::string(R"({"text": 123456789012345678901234567890})")}) {
    const auto read_line = [&](const std::string& line) {
      return read(line + "\n{\"text\": \"next\"}\n", {.fields = {.text = "text", .prompt = "q"}});
    };
    const std::string id = "\"id\": " + other;
    const std::string text = R"("text": "a\u00e9")";
    const std::string prompt = R"("q": "1?\n")";
    for (const std::string& line :
         {id + "," + text + "," + prompt, prompt + "," + id + "," + text,
          text + "," + prompt + "," + id, id + "," + prompt + "," + id + "," + text + "," + id}) {
      EXPECT_THAT(error_text<DataError>([&] { read_line("{" + line + "}"); }),
                  HasSubstr("the line at byte " + std::to_string(line.size() + 3)))
          << "the next line has no prompt";
      EXPECT_THAT(read("{" + line + "}\n", {.fields = {.text = "text", .prompt = "q"}}),
                  ElementsAre("1?\n|a\u00e9"))
          << line.substr(0, 100);
    }
    const auto refusal = [&](const std::string& line) {
      return error_text<DataError>([&] { read(line, {}); });
    };
    EXPECT_THAT(refusal("{" + id + R"(, "txt": "a"})"), HasSubstr("no field 'text'"));
    EXPECT_THAT(refusal("{" + id + R"(, "text": 5})"), HasSubstr("no text in 'text'"));
    EXPECT_THAT(refusal("{" + id + R"(, "text": "a"} {})"), HasSubstr("no JSON object"));
    EXPECT_THAT(refusal("{" + id + R"(, "text": "\ud800"})"), HasSubstr("no JSON object"));
    EXPECT_THAT(refusal("{" + id + R"(, "text" "a"})"), HasSubstr("no JSON object"));
    EXPECT_THAT(refusal("{" + id + R"(, "text": "a")"), HasSubstr("no JSON object"));
    EXPECT_THAT(refusal("[" + other + "]"), HasSubstr("no JSON object"));
  }
}

TEST(JsonlDocuments, OfNullAreNone) {
  const std::string id = R"("id": 123456789012345678901234567890)";
  for (const std::string& other : {std::string(R"("id": 1)"), id}) {
    EXPECT_THAT(read("{\"text\": null, " + other + "}\n{" + other + ", \"text\": \"a\"}", {}),
                ElementsAre("a"));
    EXPECT_THAT(read("{\"q\": null, \"text\": \"a\", " + other + "}\n{\"q\": \"b\", " + other +
                         ", \"text\": null}\n",
                     {.fields = {.text = "text", .prompt = "q"}}),
                ElementsAre("a"));
  }
}

TEST(JsonlDocuments, MayFollowAByteOrderMark) {
  const std::string text = "\xEF\xBB\xBF{\"text\": \"a\"}\n{\"text\": \"bc\"}\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (const size_t at_once : {size_t{1}, size_t{2}, text.size()}) {
      Texts texts = read(text, {.slice = {0, cut}}, at_once);
      for (std::string& more : read(text, {.slice = {cut, text.size()}}, at_once))
        texts.push_back(std::move(more));
      EXPECT_THAT(texts, ElementsAre("a", "bc")) << "cut at " << cut;
    }
  }
  EXPECT_THAT(read("\xEF\xBB\xBF \n{\"text\": \"a\"}", {}), ElementsAre("a"));
  EXPECT_THAT(error_text<DataError>([] { read("\n\xEF\xBB\xBF{\"text\": \"a\"}", {}); }),
              HasSubstr("no JSON object"));
}

TEST(JsonlDocuments, RefuseLongLinesHoweverTheyAreRead) {
  const std::string text = "{\"text\": \"a\"}\n{\"text\": \"0123456789\"}\n";
  for (const size_t at_once : {size_t{1}, text.size()}) {
    EXPECT_THAT(error_text<DataError>([&] { read(text, {.max_line_bytes = 20}, at_once); }),
                AllOf(HasSubstr("a.jsonl: the line at byte 14"), HasSubstr("longer than 20")));
    EXPECT_THAT(read(text, {.max_line_bytes = 22}, at_once), ElementsAre("a", "0123456789"));
  }
}

}  // namespace
}  // namespace shoal::data
