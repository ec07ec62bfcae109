// The table of machines is refused when it is wrong.

#include "shoal/score/machines.h"

#include <fstream>

#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/source_dir.h"
#include "tests/support/temp_dir.h"

namespace shoal::score {
namespace {

TEST(Machines, OfAWrongTableAreRefused) {
  const tests::TempDir directory;
  EXPECT_TRUE(read_machines(directory.path()).empty());
  const std::string cluster = (tests::source_dir() / "clusters" / "h100.yaml").string();
  const auto read = [&](const std::string& line) {
    std::ofstream(directory / kMachinesFile) << "source,cluster,rows\n" << line << '\n';
    return read_machines(directory.path());
  };
  EXPECT_EQ(read("tt24," + cluster + ",seen").front().evidence, Evidence::kSeen);
  EXPECT_THROW(read("tt24," + cluster + ",guessed"), DataError);
  EXPECT_THROW(read("tt24,nowhere.yaml,test"), UsageError);
}

}  // namespace
}  // namespace shoal::score
