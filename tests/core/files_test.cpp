#include "shoal/core/files.h"

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/temp_dir.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using tests::TempDir;

size_t entries(const std::filesystem::path& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory),
                                           std::filesystem::directory_iterator()));
}

TEST(ChunkReader, GivesTheWholeInChunks) {
  const TempDir dir;
  write_file_atomically(dir / "a", "0123456789");
  ChunkReader reader(dir / "a");
  EXPECT_EQ(reader.next(4), "0123");
  EXPECT_EQ(reader.next(4), "4567");
  EXPECT_EQ(reader.next(4), "89");
  EXPECT_EQ(reader.next(4), "");
}

template <class Action>
std::string data_error_of(Action action) {
  try {
    action();
  } catch (const DataError& e) {
    return e.what();
  }
  return "no DataError was thrown";
}

TEST(ReadFile, GivesTheWholeContent) {
  const TempDir dir;
  const std::string content("a\0b\n", 4);
  write_file_atomically(dir / "f", content);
  EXPECT_EQ(read_file(dir / "f", 4), content);
}

TEST(ReadFile, RefusesWhatIsTooLargeMissingOrNotAFile) {
  const TempDir dir;
  write_file_atomically(dir / "f", "12345");
  EXPECT_THAT(data_error_of([&] { read_file(dir / "f", 4); }),
              HasSubstr("has 5 bytes, but at most 4"));
  EXPECT_THAT(data_error_of([&] { read_file(dir / "none", 4); }), HasSubstr("No such file"));
  EXPECT_THAT(data_error_of([&] { read_file(dir.path(), 4); }), HasSubstr("is not a regular file"));
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(data_error_of([&] { read_file(dir / "pipe", 4); }),
              HasSubstr("is not a regular file"));
}

TEST(WriteFileAtomically, ReplacesAndSetsTheMode) {
  const TempDir dir;
  write_file_atomically(dir / "f", "old");
  write_file_atomically(dir / "f", "new");
  EXPECT_EQ(read_file(dir / "f", 100), "new");
  struct stat status {};
  ASSERT_EQ(::stat((dir / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_EQ(entries(dir.path()), 1U) << "no temporary file stays behind";
}

TEST(WriteFileAtomically, AReaderNeverSeesHalfAFile) {
  const TempDir dir;
  const std::string a(100'003, 'a');
  const std::string b(50'021, 'b');
  write_file_atomically(dir / "f", a);
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) write_file_atomically(dir / "f", i % 2 == 0 ? b : a);
  });
  for (int i = 0; i < 200; ++i) {
    const std::string seen = read_file(dir / "f", 1 << 20);
    ASSERT_TRUE(seen == a || seen == b) << "saw " << seen.size() << " bytes";
  }
  writer.join();
}

TEST(WriteFileAtomically, AFullDiskLeavesTheOldFileAndNoRubbish) {
  const TempDir dir;
  write_file_atomically(dir / "f", "old");
  const pid_t child = ::fork();
  if (child == 0) {  // the limit is per process, so it is tried in one of its own
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message =
        data_error_of([&] { write_file_atomically(dir / "f", std::string(5000, 'x')); });
    ::_exit(message.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the failed write must say why";
  EXPECT_EQ(read_file(dir / "f", 100), "old");
  EXPECT_EQ(entries(dir.path()), 1U);
}

TEST(CreateFileBeside, TwoOfOnePathAreTwoFiles) {
  const TempDir dir;
  const FileBeside first = create_file_beside(dir / "f");
  const FileBeside second = create_file_beside(dir / "f", 0600);
  EXPECT_NE(first.path, second.path);
  EXPECT_EQ(first.path.string().rfind((dir / "f").string() + ".tmp-", 0), 0U);
  for (const auto& [file, mode] : {std::pair(&first, 0640U), std::pair(&second, 0600U)}) {
    struct stat status {};
    ASSERT_EQ(::stat(file->path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
  }
  EXPECT_THAT(data_error_of([&] { create_file_beside(dir / "none" / "f"); }),
              HasSubstr("cannot create"));
}

TEST(CreateFileOnce, OneOfManyRacersWinsAndAllReadTheSame) {
  const TempDir dir;
  std::vector<int> created(8);
  std::vector<std::thread> racers;
  racers.reserve(created.size());
  for (size_t i = 0; i < created.size(); ++i) {
    racers.emplace_back([&, i] {
      created[i] =
          create_file_once(dir / "secret", "from racer " + std::to_string(i), 0600) ? 1 : 0;
    });
  }
  for (std::thread& racer : racers) racer.join();
  size_t winner = created.size();
  for (size_t i = 0; i < created.size(); ++i) {
    if (created[i] == 0) continue;
    EXPECT_EQ(winner, created.size()) << "two racers created the file";
    winner = i;
  }
  EXPECT_EQ(read_file(dir / "secret", 100), "from racer " + std::to_string(winner));
  EXPECT_EQ(entries(dir.path()), 1U);
}

}  // namespace
}  // namespace shoal
