#include "shoal/cluster/restarts.h"

#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/step_page.h"
#include "shoal/core/error.h"

#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;

constexpr int kKilled = kSignalExitBase + SIGKILL;

JobResult failed(int code, std::optional<int64_t> first = std::nullopt) {
  return {
      .exit_code = code, .cause = "rank 1 failed", .asked_to_stop = false, .steps = {first, first}};
}

TEST(Restarts, AreNotMadeUnlessAskedFor) { EXPECT_FALSE(Restarts({}).after(failed(kKilled)).wait); }

TEST(Restarts, HelpWhatWasKilledOrLostAPeerAndNothingElse) {
  for (const int code : {kKilled, kSignalExitBase + SIGSEGV, 75, 74, 71, 70})
    EXPECT_TRUE(Restarts({.most = 1}).after(failed(code)).wait) << code;
  for (const int code : {0, 1, 2, 3, 16, 17, 76})
    EXPECT_FALSE(Restarts({.most = 1}).after(failed(code)).wait) << code;
}

TEST(Restarts, HelpAgainstWrongBitsOfAJobThatHasCheckpoints) {
  EXPECT_TRUE(Restarts({.most = 1}).after(failed(17, 40)).wait);
  EXPECT_FALSE(Restarts({.most = 1}).after(failed(16, 40)).wait);
}

TEST(Restarts, ReplaceARankAtOnceUnlessItFailsBeforeItIsCalledIn) {
  Restarts restarts({.most = 5});
  const auto wait_after = [&](int code, std::optional<int64_t> first) {
    const auto last = first ? std::optional(*first + 5) : first;
    return restarts.replacement({.exit_code = code, .cause = "", .steps = {first, last}});
  };
  EXPECT_EQ(wait_after(kKilled, 40)->wait, Duration(0));
  EXPECT_EQ(wait_after(kKilled, std::nullopt)->wait, Duration(1000));
  EXPECT_EQ(wait_after(75, std::nullopt)->wait, Duration(2000));
  EXPECT_EQ(wait_after(kKilled, 60)->wait, Duration(0));
  EXPECT_FALSE(wait_after(3, 60)) << "all ranks of the job fail so";
  EXPECT_EQ(wait_after(kKilled, 70)->wait, Duration(0));
  EXPECT_EQ(wait_after(kKilled, 80)->wait, std::nullopt) << "the sixth";
}

TEST(Restarts, AreNotMadeOfAJobThatWasAskedToStop) {
  JobResult result = failed(75, 3);
  result.asked_to_stop = true;
  EXPECT_FALSE(Restarts({.most = 5}).after(result).wait);
}

TEST(Restarts, ComeAtOnceAsLongAsThereIsProgress) {
  Restarts restarts({.most = 1000});
  for (int64_t first = 0; first < 500; first += 7)
    EXPECT_EQ(restarts.after(failed(kKilled, first)).wait, Duration(0));
}

TEST(Restarts, EndAfterThreeCyclesFromOneStep) {
  Restarts restarts({.most = 1000});
  EXPECT_EQ(restarts.after(failed(kKilled, 40)).wait, Duration(0));
  EXPECT_EQ(restarts.after(failed(kKilled, 40)).wait, Duration(1000));
  const Restarts::Verdict verdict = restarts.after(failed(kKilled, 40));
  EXPECT_FALSE(verdict.wait);
  EXPECT_EQ(verdict.exit_code, 76);
  EXPECT_THAT(verdict.note, HasSubstr("began at step 41 3 times"));
}

TEST(Restarts, CountAFailureBeforeTheFirstStepAsNoProgress) {
  Restarts restarts({.most = 1000});
  EXPECT_TRUE(restarts.after(failed(kKilled, 40)).wait);
  EXPECT_TRUE(restarts.after(failed(kKilled)).wait);
  EXPECT_EQ(restarts.after(failed(kKilled)).exit_code, 76);
}

// A network that is down, or a disk that is full for a while, is no reason to give a job up.
TEST(Restarts, GoOnWhileAJobCannotBegin) {
  for (const int code : {75, 74}) {
    Restarts restarts({.most = 1000});
    EXPECT_TRUE(restarts.after(failed(kKilled, 40)).wait);
    Duration waited(0);
    for (int i = 0; i < 9; ++i) waited += restarts.after(failed(code)).wait.value();
    EXPECT_EQ(waited, std::chrono::seconds(0 + 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60));
    EXPECT_TRUE(restarts.after(failed(code, 40)).wait) << "the second time from step 40";
    EXPECT_EQ(restarts.after(failed(code, 40)).exit_code, 76);
  }
}

TEST(Restarts, OfAProgramThatTellsNoStepsAreOnlyCounted) {
  Restarts restarts({.most = 9});
  Duration waited(0);
  for (int i = 0; i < 9; ++i) waited += restarts.after(failed(kKilled)).wait.value();
  EXPECT_EQ(waited, std::chrono::seconds(0 + 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60));
  const Restarts::Verdict verdict = restarts.after(failed(kKilled));
  EXPECT_FALSE(verdict.wait);
  EXPECT_EQ(verdict.exit_code, kKilled);
}

// The child's end of a page, as start() passes it.
class InheritedPage {
 public:
  explicit InheritedPage(int fd) { ::setenv(kStepPageVariable, std::to_string(fd).c_str(), 1); }
  InheritedPage(const InheritedPage&) = delete;
  InheritedPage& operator=(const InheritedPage&) = delete;
  ~InheritedPage() { ::unsetenv(kStepPageVariable); }
};

TEST(StepPage, KeepsTheFirstAndTheLastStep) {
  const StepPage page;
  EXPECT_FALSE(page.read().last);
  const InheritedPage inherits(page.fd());
  StepReport report;
  report.tell(40);
  report.tell(41);
  EXPECT_EQ(page.read().first, 40);
  EXPECT_EQ(page.read().last, 41);
}

TEST(StepPage, IsNoFileOfSomebodyElse) {
  const tests::TempDir dir;
  const UniqueFd file = create_file(dir / "precious");
  ASSERT_EQ(::write(file.get(), "sixteen  letters", 16), 16);
  const InheritedPage inherits(file.get());
  StepReport().tell(7);
  EXPECT_EQ(read_file(dir / "precious", 100), "sixteen  letters");
  const InheritedPage no_number(-1);
  StepReport().tell(7);
}

}  // namespace
}  // namespace shoal::cluster
