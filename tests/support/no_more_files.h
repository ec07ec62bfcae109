// no_more_files.h -- a process that may open no more files: as on a host whose file system fails for a
// while.
#pragma once

#include <sys/resource.h>

#include <gtest/gtest.h>

namespace shoal::tests {

class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    struct rlimit limit = before_;
    limit.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;
  ~NoMoreFiles() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_ {};
};

}  // namespace shoal::tests
