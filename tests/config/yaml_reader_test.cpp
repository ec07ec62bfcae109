#include "shoal/config/yaml_reader.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = YamlNode::Kind;

YamlNode tree_of(const std::string& text) {
  Document document = parse_yaml(text, "t.yaml");
  EXPECT_THAT(document.problems, IsEmpty()) << report("t.yaml", document.problems);
  return document.root;
}

// "what" of the only problem.
std::string problem_of(const std::string& text) {
  const Document document = parse_yaml(text, "t.yaml");
  EXPECT_EQ(document.problems.size(), 1U) << report("t.yaml", document.problems);
  EXPECT_EQ(document.root.kind, Kind::kNull) << "a document that was not read to its end is empty";
  return document.problems.empty() ? "" : document.problems[0].what;
}

TEST(ParseYaml, BuildsATreeWithPlaces) {
  const YamlNode root = tree_of("# comment\na:\n  b: [1, 'two']\nc: ~\n");
  ASSERT_EQ(root.kind, Kind::kMap);
  ASSERT_EQ(root.keys.size(), 2U);
  EXPECT_EQ(root.keys[0].text, "a");
  const YamlNode& list = root.items[0].items[0];
  ASSERT_EQ(list.kind, Kind::kList);
  EXPECT_EQ(list.line, 3);
  EXPECT_EQ(list.column, 6);
  EXPECT_EQ(list.items[0].text, "1");
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_TRUE(list.items[1].quoted);
  EXPECT_EQ(root.items[1].kind, Kind::kNull);
}

TEST(ParseYaml, AMissingValueStandsWhereItsKeyDoes) {
  const YamlNode root = tree_of("a:\n\n\nb: 1\n");
  EXPECT_EQ(root.items[0].kind, Kind::kNull);
  EXPECT_EQ(root.items[0].line, 1);
}

TEST(ParseYaml, NothingIsADocument) {
  for (const char* text :
       {"", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "%YAML 1.2\n---\n"}) {
    EXPECT_EQ(tree_of(text).kind, Kind::kNull) << text;
  }
}

TEST(ParseYaml, BothLineEndsAreTaken) { EXPECT_EQ(tree_of("a: 1\r\nb: 2\r\n").keys.size(), 2U); }

TEST(ParseYaml, DepthIsLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(tree_of(nested(kMaxDepth)).kind, Kind::kList);
  EXPECT_EQ(problem_of(nested(kMaxDepth + 1)), "nests deeper than 32 levels");
  EXPECT_EQ(problem_of(nested(100'000)), "nests deeper than 32 levels");
  EXPECT_EQ(problem_of(std::string(100'000, '[')), "has a list or a section where a key belongs");
  EXPECT_EQ(problem_of(std::string(100'000, '{')), "has a list or a section where a key belongs");
  std::string dashes;
  for (int i = 0; i < 50'000; ++i) dashes += "- ";
  EXPECT_EQ(problem_of(dashes), "nests deeper than 32 levels");
  std::string questions;
  for (int i = 0; i < 50'000; ++i) questions += "? ";
  EXPECT_EQ(problem_of(questions), "has a list or a section where a key belongs");
}

TEST(ParseYaml, TheNumberOfValuesIsLimited) {
  std::string list = "[";
  for (size_t i = 0; i + 1 < kMaxNodes; ++i) list += "1,";
  EXPECT_EQ(tree_of(list + "]").items.size(), kMaxNodes - 1);
  EXPECT_EQ(problem_of(list + "1]"), "holds more than 10000 values");
}

TEST(ParseYaml, GoesOnAfterWhatItCanSkip) {
  const Document document = parse_yaml("a: &x 1\nb: *x\nc: !!int 3\na: 2\n<<: {d: 1}\n", "t.yaml");
  std::vector<std::string> told;
  for (const Problem& p : document.problems) told.push_back(p.where + " " + p.place + " " + p.what);
  EXPECT_THAT(told, ElementsAre("a t.yaml:1:4 has an anchor, which a config may not hold",
                                "b t.yaml:2:4 is an alias, which a config may not hold",
                                HasSubstr("c t.yaml:3:4 has the tag \"tag:yaml.org,2002:int\""),
                                "a t.yaml:4:1 is there twice, on lines 1 and 4",
                                "\"<<\" t.yaml:5:1 is a merge key, which a config may not hold"));
  EXPECT_EQ(document.root.items.size(), 5U);
}

}  // namespace
}  // namespace shoal::config
