#include "shoal/core/mapped_file.h"

#include <fstream>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

// The flags that /proc/self/smaps lists for the mapping that begins at `address`: "rd sh sr".
std::string mapping_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const std::string wanted = format("{:x}-", reinterpret_cast<uintptr_t>(address));
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(wanted)) inside = true;
    if (inside && line.starts_with("VmFlags:")) return line;
  }
  return "no mapping begins there";
}

TEST(MappedFile, HasTheBytesOfTheFile) {
  const TempDir dir;
  const std::string content("a\0b\n", 4);
  write_file_atomically(dir / "f", content);
  const MappedFile file(dir / "f");
  EXPECT_EQ(file.bytes(), content);
  std::filesystem::remove(dir / "f");
  EXPECT_EQ(file.bytes(), content) << "the name is not needed any more";
}

TEST(MappedFile, AnEmptyFileIsEmpty) {
  const TempDir dir;
  write_file_atomically(dir / "f", "");
  const MappedFile file(dir / "f");
  EXPECT_EQ(file.bytes(), "");
  file.advise(MappedFile::Access::kWillNeed);
}

TEST(MappedFile, RefusesWhatIsMissingOrNotAFile) {
  const TempDir dir;
  const auto refusal = [&](const std::filesystem::path& path) {
    return error_text<DataError>([&] { const MappedFile file(path); });
  };
  EXPECT_THAT(refusal(dir / "none"), HasSubstr("none: No such file"));
  EXPECT_THAT(refusal(dir.path()), HasSubstr("is not a regular file"));
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(dir / "pipe"), HasSubstr("pipe is not a regular file"));
}

TEST(MappedFile, MovesWithoutMovingTheBytes) {
  const TempDir dir;
  write_file_atomically(dir / "f", "first");
  write_file_atomically(dir / "g", "second");
  MappedFile file(dir / "f");
  const char* const address = file.bytes().data();
  MappedFile moved(std::move(file));
  EXPECT_EQ(moved.bytes().data(), address);
  EXPECT_EQ(file.bytes(), "");  // NOLINT(bugprone-use-after-move): empty, as the header says
  moved = MappedFile(dir / "g");
  EXPECT_EQ(moved.bytes(), "second");
  EXPECT_EQ(mapping_flags(address), "no mapping begins there");
}

TEST(MappedFile, TakesAdviceForAnyRange) {
  const TempDir dir;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  write_file_atomically(dir / "f", std::string(4 * page + 5, 'x'));
  const MappedFile file(dir / "f");
  const char* const start = file.bytes().data();
  file.advise(MappedFile::Access::kRandom, 2 * page + 7, 1);
  EXPECT_THAT(mapping_flags(start + 2 * page), HasSubstr(" rr "));
  file.advise(MappedFile::Access::kSequential);
  EXPECT_THAT(mapping_flags(start), HasSubstr(" sr "));
  file.advise(MappedFile::Access::kWillNeed, page, file.bytes().size());
  file.advise(MappedFile::Access::kRandom, file.bytes().size(), 1);
  EXPECT_EQ(mapping_flags(start + 4 * page), "no mapping begins there")
      << "what lies behind the end must not change the last page";
  file.advise(MappedFile::Access::kDone);
  EXPECT_EQ(file.bytes(), std::string(4 * page + 5, 'x'));
}

}  // namespace
}  // namespace shoal
