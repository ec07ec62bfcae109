// The main program of all GoogleTest binaries:
//
//   tests/parallel/parallel_tests tests/parallel/grid_test.cpp ...     runs the tests of these files
//   tests/parallel/parallel_tests --gtest_filter=Grid.TwoRanks         runs these tests
//
// Several test files share a binary, because compiling and linking one costs more than most of them.

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

// Returns a filter for the tests in `file`, empty if there are none.
std::string filter_for(std::string_view file) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::string_view(test.file()).ends_with(file))
        filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const std::vector<std::string> files(argv + 1, argv + argc);
  std::string filter;
  for (const std::string& file : files) {
    const std::string tests = filter_for("/" + file);
    if (tests.empty()) {
      std::cerr << argv[0] << " has no tests of " << file << "\n";
      return 2;
    }
    filter += tests;
  }
  if (!files.empty()) ::testing::GTEST_FLAG(filter) = filter;
  const int code = RUN_ALL_TESTS();
  if (::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << argv[0] << ": no test was selected\n";
    return 2;
  }
  return code;
}
