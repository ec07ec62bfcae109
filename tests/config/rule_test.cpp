#include "shoal/config/rule.h"

#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace shoal::config {
namespace {

// Editors know a text rule as a regular expression, shoal as a function: both must say the same.
void expect_says(const TextRule& rule, const std::string& text, bool allowed) {
  EXPECT_EQ(rule.holds(text), allowed) << "the function, of " << text;
  EXPECT_EQ(std::regex_search(text, std::regex(std::string(rule.pattern))), allowed)
      << "the pattern, of " << text;
}

TEST(FileName, IsOnePortablePartOfAPath) {
  for (const char* text : {"gpt2-124m", "a", "A.b_c-d", "0", "-x"})
    expect_says(file_name(), text, true);
  for (const char* text : {"", ".", "..", ".hidden", "a/b", "a b", "é", "a:b"}) {
    expect_says(file_name(), text, false);
  }
  expect_says(file_name(), std::string(100, 'x'), true);
  expect_says(file_name(), std::string(101, 'x'), false);
}

TEST(NotEmpty, IsThat) {
  expect_says(not_empty(), "x", true);
  expect_says(not_empty(), "", false);
}

TEST(OneInterface, IsNeverTheWildcard) {
  for (const char* text :
       {"eth0", "10.0.0.7", "fe80::1%eth0", "br-lan.5", "ib0:1", "0eth", "::1"}) {
    expect_says(one_interface(), text, true);
  }
  for (const char* text :
       {"", "0.0.0.0", "::", "0", "0:0:0:0:0:0:0:0", "::0.0.0.0", "::%eth0", "*", "a b"}) {
    expect_says(one_interface(), text, false);
  }
  expect_says(one_interface(), std::string(65, 'x'), false);
}

}  // namespace
}  // namespace shoal::config
