#include "shoal/core/shipped_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// What comes with the executable is found by tests/e2e/command_test.sh and tests/package: a unit test has nothing beside it.
TEST(OwnOrShipped, LeavesAUsersFileAlone) {
  const tests::TempDir directory;
  const fs::path file = directory.path() / "own.yaml";
  std::ofstream(file) << "x";
  EXPECT_EQ(own_or_shipped(file), file);
  const fs::path relative = fs::relative(file);
  EXPECT_EQ(own_or_shipped(relative), relative);
}

TEST(OwnOrShipped, ReturnsWhatIsNowhereAsItIs) {
  for (const char* const path :
       {"", "no/such/file.yaml", "/no/such/file.yaml", "../../etc/passwd", "s3://bucket/web"})
    EXPECT_EQ(own_or_shipped(path).string(), path);
}

}  // namespace
}  // namespace shoal
