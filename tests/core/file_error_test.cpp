#include "shoal/core/file_error.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(FileError, TellsWhatMayPass) {
  for (const int passes : {ENOSPC, EDQUOT, EIO, EROFS, ESTALE, ETIMEDOUT, EMFILE})
    EXPECT_EQ(exit_code_of_file_error(passes), ExitCode::kStorage) << describe_errno(passes);
  for (const int stays : {ENOENT, EACCES, ENOTDIR, EISDIR, ELOOP})
    EXPECT_EQ(exit_code_of_file_error(stays), ExitCode::kData) << describe_errno(stays);
}

TEST(FileError, NamesPathAndReason) {
  try {
    throw_file_error("list", "/runs/a", std::make_error_code(std::errc(ESTALE)));
  } catch (const DataError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kStorage);
    EXPECT_STREQ(error.what(), "cannot list /runs/a: Stale file handle (errno 116)");
  }
}

}  // namespace
}  // namespace shoal
