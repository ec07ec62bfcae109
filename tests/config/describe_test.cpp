#include "shoal/config/describe.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shoal/config/run_config.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/config/everything.h"

namespace shoal::config {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string doc_file(const std::string& name) {
  const char* source = std::getenv("SHOAL_SOURCE_DIR");
  if (source == nullptr) return "ctest sets SHOAL_SOURCE_DIR";
  return read_file(std::filesystem::path(source) / "docs" / name, 1 << 20);
}

TEST(Docs, AreWhatTheFieldsSay) {
  const RunConfig defaults;
  EXPECT_EQ(doc_file("config.md"), to_markdown(table_of(defaults)))
      << "docs/config.md is stale: shoal config docs > docs/config.md";
  EXPECT_EQ(doc_file("config.schema.json"), to_json_schema(table_of(defaults)))
      << "docs/config.schema.json is stale: shoal config schema > docs/config.schema.json";
}

TEST(Help, TellsOneKeyASectionOrAll) {
  const RunConfig defaults;
  const Table table = table_of(defaults);
  EXPECT_EQ(to_help(table, "parallel.tp"),
            "parallel.tp\n"
            "    ranks that split every matmul; keep them inside one node\n"
            "    value: a whole number from 1 to 1024; default: 1\n");
  EXPECT_THAT(to_help(table, "parallel"), HasSubstr("parallel.dp_shard\n"));
  EXPECT_THAT(to_help(table, "parallel"), Not(HasSubstr("comm")));
  EXPECT_THAT(to_help(table, ""), HasSubstr("comm.deadline\n"));
}

TEST(Help, OfAnUnknownKeyNamesTheNearest) {
  const RunConfig defaults;
  try {
    to_help(table_of(defaults), "paralel.tp");
    FAIL() << "there is no such key";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "paralel.tp is not a key of shoal\n  -> did you mean parallel.tp?");
  }
}

TEST(InWords, CompletesASentence) {
  const tests::Everything everything;
  const Table table = table_of(everything);
  const auto words = [&table](std::string_view key) {
    return in_words(find_entry(table, key)->field->shape);
  };
  EXPECT_EQ(words("small"), "a whole number from -10 to 10");
  EXPECT_EQ(words("unsigned_large"), "a whole number, at least 0");
  EXPECT_EQ(words("maybe_number"), "a number, at least 0.5, or auto");
  EXPECT_EQ(words("numbers"), "a list, each item a whole number, at least 0");
  EXPECT_EQ(words("outer.inner.bytes"), "a size such as 64 MiB, at most 1 TiB");
}

TEST(Schema, DescribesEveryType) {
  const tests::Everything everything;
  const json schema = json::parse(to_json_schema(table_of(everything)));
  const json& fields = schema.at("properties");
  EXPECT_EQ(fields.at("small").at("minimum"), -10);
  EXPECT_EQ(fields.at("number").at("type"), "number");
  EXPECT_EQ(fields.at("number").at("maximum"), 1.0);
  EXPECT_EQ(fields.at("choice").at("enum"),
            json::parse(R"(["auto", "gloo", "nccl", "mpi", "local", "strict"])"));
  EXPECT_EQ(fields.at("maybe_text").at("anyOf").at(0), json::parse(R"({"const": "auto"})"));
  EXPECT_EQ(fields.at("numbers").at("items").at("minimum"), 0);
  EXPECT_EQ(fields.at("numbers").at("default"), json::parse("[1, 2]"));
  EXPECT_EQ(fields.at("outer").at("additionalProperties"), false);
  const json& inner = fields.at("outer").at("properties").at("inner").at("properties");
  EXPECT_EQ(inner.at("bytes").at("default"), "64 MiB");
  EXPECT_EQ(inner.at("duration").at("default"), "1m30s");
  EXPECT_FALSE(fields.contains("inner"));
}

}  // namespace
}  // namespace shoal::config
