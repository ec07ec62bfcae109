// CSV, JSONL and names of event files: what is written, and how a run that resumes cuts it back.
#include "shoal/core/files.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/metrics/csv.h"
#include "shoal/metrics/jsonl.h"
#include "shoal/metrics/patient_sink.h"
#include "shoal/metrics/row_file.h"
#include "shoal/metrics/tensorboard.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::metrics {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using tests::error_text;
using tests::TempDir;

constexpr size_t kLimit = 1 << 20;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::string_view kHead =
    "step,tokens,loss,val_loss,perplexity,lr,grad_norm,skipped_steps,dt,dtf,dtb,"
    "samples_per_second,tokens_per_second,tokens_per_second_per_device,mfu,memory_bytes,"
    "startup_seconds,time_left\n";

std::string content(const std::filesystem::path& path) { return read_file(path, kLimit); }

void add(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::app) << bytes;
}

StepRecord made_record(int64_t step, double loss) { return {.step = step, .loss = loss}; }

std::string csv_row(int64_t step, double loss) {
  return std::to_string(step) + ",0," + exact(loss) + ",,,0,,0,0,,,0,0,0,,,,\n";
}

std::string json_line(int64_t step, const std::string& loss) {
  return R"({"step":)" + std::to_string(step) + R"(,"tokens":0,"loss":)" + loss +
         R"(,"lr":0,"skipped_steps":0,"dt":0,"samples_per_second":0,"tokens_per_second":0,)" +
         R"("tokens_per_second_per_device":0})" + "\n";
}

TEST(Csv, HasAHeadAndARowPerRecord) {
  const TempDir dir;
  Csv csv(dir / "m.csv");
  EXPECT_EQ(content(dir / "m.csv"), kHead);
  csv.write(made_record(1, 0.1));
  EXPECT_EQ(content(dir / "m.csv"), std::string(kHead) + csv_row(1, 0.1)) << "readable at once";
  csv.write(made_record(2, kNan));
  csv.write(made_record(3, -kInfinity));
  EXPECT_THAT(content(dir / "m.csv"), EndsWith("\n2,0,nan,,,0,,0,0,,,0,0,0,,,,\n"
                                               "3,0,-inf,,,0,,0,0,,,0,0,0,,,,\n"));
}

TEST(Csv, ContinuesBelowTheStepItResumesAt) {
  const TempDir dir;
  {
    Csv csv(dir / "m.csv");
    for (int64_t step = 1; step <= 11; ++step) csv.write(made_record(step, 1));
  }
  Csv csv(dir / "m.csv", 3);
  csv.write(made_record(3, 2));
  EXPECT_EQ(content(dir / "m.csv"),
            std::string(kHead) + csv_row(1, 1) + csv_row(2, 1) + csv_row(3, 2));
}

TEST(Csv, KeepsEverythingBelowAStepItHasNotReached) {
  const TempDir dir;
  { Csv(dir / "m.csv").write(made_record(5, 1)); }
  Csv(dir / "m.csv", 100).write(made_record(100, 1));
  EXPECT_EQ(content(dir / "m.csv"), std::string(kHead) + csv_row(5, 1) + csv_row(100, 1));
}

// A kill at any moment: every beginning of the file is one that can be continued.
TEST(Csv, ContinuesWhereverItWasTorn) {
  const TempDir dir;
  const std::string whole = std::string(kHead) + csv_row(1, 0.1) + csv_row(2, 0.2);
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto path = dir / "m.csv";
    std::filesystem::remove(path);
    add(path, whole.substr(0, size));
    { Csv csv(path, 3); }
    const size_t rows = kHead.size() + csv_row(1, 0.1).size();
    const size_t kept = size == whole.size() ? size : size >= rows ? rows : kHead.size();
    ASSERT_EQ(content(path), whole.substr(0, kept)) << "torn at byte " << size;
  }
}

TEST(Csv, RefusesAFileThatIsNotItsOwn) {
  const TempDir dir;
  add(dir / "m.csv", "step,loss\n1,2\n");
  EXPECT_THAT(error_text<DataError>([&] { Csv csv(dir / "m.csv", 1); }),
              testing::AllOf(HasSubstr("m.csv does not begin with"), HasSubstr("move the file")));
  EXPECT_EQ(content(dir / "m.csv"), "step,loss\n1,2\n") << "as it was";
  add(dir / "n.csv", std::string(kHead) + csv_row(1, 1) + "some words\n" + csv_row(2, 1));
  EXPECT_THAT(error_text<DataError>([&] { Csv csv(dir / "n.csv", 5); }),
              HasSubstr("is not a row of this file"));
  EXPECT_THAT(content(dir / "n.csv"), HasSubstr("some words")) << "as it was";
}

TEST(Jsonl, HasAnObjectPerRecordWithoutWhatIsAbsent) {
  const TempDir dir;
  Jsonl jsonl(dir.path());
  jsonl.write(made_record(1, 0.1));
  EXPECT_EQ(content(dir / "metrics.jsonl"), json_line(1, "0.1")) << "readable at once";
  jsonl.write(made_record(2, kNan));
  jsonl.write(made_record(3, kInfinity));
  EXPECT_EQ(content(dir / "metrics.jsonl"),
            json_line(1, "0.1") + json_line(2, R"("nan")") + json_line(3, R"("inf")"));
}

TEST(Jsonl, WritesAnyTextAsJson) {
  const TempDir dir;
  Jsonl jsonl(dir.path());
  jsonl.text(5, "a \"tag\"", "two\nlines, \\ and \xff\x1f");
  EXPECT_EQ(content(dir / "texts.jsonl"),
            R"({"step":5,"tag":"a \"tag\"","text":"two\u000alines, \\ and )"
            "\xef\xbf\xbd"
            R"(\u001f"})"
            "\n");
  EXPECT_EQ(content(dir / "metrics.jsonl"), "");
}

TEST(Jsonl, ContinuesBelowTheStepItResumesAt) {
  const TempDir dir;
  {
    Jsonl jsonl(dir.path());
    for (int64_t step = 1; step <= 11; ++step) {
      jsonl.write(made_record(step, 1));
      jsonl.text(step, "sample", "old");
    }
  }
  add(dir / "metrics.jsonl", R"({"step":12,"tok)");
  Jsonl jsonl(dir.path(), 2);
  jsonl.write(made_record(2, 2));
  jsonl.text(2, "sample", "new");
  EXPECT_EQ(content(dir / "metrics.jsonl"), json_line(1, "1") + json_line(2, "2"));
  EXPECT_EQ(content(dir / "texts.jsonl"), R"({"step":1,"tag":"sample","text":"old"})"
                                          "\n"
                                          R"({"step":2,"tag":"sample","text":"new"})"
                                          "\n");
}

TEST(Jsonl, ContinuesWhereverItWasTorn) {
  const TempDir dir;
  const std::string whole = json_line(1, "0.1") + json_line(2, "0.2");
  const size_t one = json_line(1, "0.1").size();
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto path = dir / "metrics.jsonl";
    std::filesystem::remove(path);
    add(path, whole.substr(0, size));
    { Jsonl jsonl(dir.path(), 3); }
    const size_t kept = size == whole.size() ? size : size >= one ? one : 0;
    ASSERT_EQ(content(path), whole.substr(0, kept)) << "torn at byte " << size;
  }
}

TEST(Jsonl, RefusesALineThatIsNotItsOwn) {
  const TempDir dir;
  for (const char* line :
       {"{\"step\":1", "{\"step\":}", "{\"step\":x}", "[]", "", "{\"stop\":1}"}) {
    std::filesystem::remove(dir / "metrics.jsonl");
    add(dir / "metrics.jsonl", std::string(line) + "\n");
    EXPECT_THAT(error_text<DataError>([&] { Jsonl jsonl(dir.path(), 5); }),
                HasSubstr("is not a row of this file"))
        << line;
  }
}

std::vector<std::string> event_files(const TempDir& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// TensorBoard reads the files of a run in the order of their names.
TEST(TensorBoard, BeginsAFileThatSortsLast) {
  const TempDir dir;
  const std::string ahead = "events.out.tfevents.4000000000.zz.1";  // a clock that was set back
  add(dir / ahead, "x");
  { const TensorBoard first(dir.path()); }
  const std::string second = event_files(dir).back();
  EXPECT_THAT(second, StartsWith("events.out.tfevents.4000000001."));
  { const TensorBoard again(dir.path()); }  // within the same second
  EXPECT_THAT(event_files(dir),
              testing::ElementsAre(ahead, second, StartsWith("events.out.tfevents.4000000002.")));
}

TEST(OpenFiles, MakesTheDirectoryAndFilesThatTheGroupMayRead) {
  const TempDir dir;
  Sinks sinks = open_files(dir / "runs/small", 0);
  sinks.write(made_record(1, 1));
  sinks.text(1, "sample", "text");
  sinks.flush();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "runs/small")) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640) << entry.path();
    EXPECT_GT(status.st_size, 0) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 4);
}

TEST(OpenFiles, NamesTheDirectoryItCannotMake) {
  const TempDir dir;
  add(dir / "file", "x");
  EXPECT_THAT(error_text<DataError>([&] { open_files(dir / "file/below", 0); }),
              StartsWith("cannot create " + (dir / "file/below").string()));
}

// While it lives, files end at `bytes`: as on a file system that is full, a part of a row is written, and then nothing.
class NoSpace {
 public:
  explicit NoSpace(rlim_t bytes) : signal_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~NoSpace() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signal_);
  }
  NoSpace(const NoSpace&) = delete;
  NoSpace& operator=(const NoSpace&) = delete;

 private:
  rlimit before_{};
  sighandler_t signal_;
};

TEST(RowFile, WritesAWholeRowOrNothing) {
  const TempDir dir;
  const auto path = dir / "rows";
  RowFile rows(path);
  rows.append("a first row\n");
  {
    const NoSpace full(20);
    EXPECT_THAT(error_text<DataError>([&] { rows.append("one for which there is no place\n"); }),
                HasSubstr("rows"));
  }
  EXPECT_EQ(read_file(path, 100), "a first row\n");
  rows.append("the next\n");
  EXPECT_EQ(read_file(path, 100), "a first row\nthe next\n");
}

TEST(TensorBoard, DescribesItsChartsWhenThereIsSpaceAgain) {
  const TempDir dir;
  TensorBoard events(dir.path());
  const auto path = std::filesystem::directory_iterator(dir.path())->path();
  {
    const NoSpace full(std::filesystem::file_size(path) + 1);
    EXPECT_THROW(events.write({.step = 1}), DataError);
  }
  events.write({.step = 1});
  const std::string written = read_file(path, kLimit);
  for (const Field& field : fields().subspan(1)) {
    if (!field.of({.step = 1})) continue;
    EXPECT_THAT(written, HasSubstr(std::string(field.help)));
  }
}

TEST(PatientSink, KeepsWhatCannotBeWritten) {
  struct Written {
    bool full = false;
    std::vector<std::string> rows;
  } written;
  class Disk : public Sink {
   public:
    explicit Disk(Written& written) : written_(written) {}
    void write(const StepRecord& record) override { add(std::to_string(record.step)); }
    void text(int64_t /*step*/, std::string_view tag, std::string_view text) override {
      add(std::string(tag) + " " + std::string(text));
    }
    void flush() override { add("flushed"); }

   private:
    void add(const std::string& row) {
      if (written_.full) throw DataError("no space left");
      written_.rows.push_back(row);
    }
    Written& written_;
  };
  const std::unique_ptr<Sink> sink = patient("a file", std::make_unique<Disk>(written));
  StepRecord record;
  for (record.step = 1; record.step <= 5; ++record.step) {
    written.full = record.step == 2 || record.step == 3;
    sink->write(record);
    if (record.step == 3) {
      sink->text(3, "sample", "of text");
      sink->flush();
    }
  }
  sink->flush();
  EXPECT_THAT(written.rows, ElementsAre("1", "2", "3", "sample of text", "4", "5", "flushed"));
}

}  // namespace
}  // namespace shoal::metrics
