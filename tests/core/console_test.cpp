#include "shoal/core/console.h"

#include <cstdlib>
#include <limits>

#include <fcntl.h>
#include <pty.h>

#include <gtest/gtest.h>

#include "shoal/core/files.h"

namespace shoal {
namespace {

// A variable of the environment for the time of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

struct Pty {
  Pty() {
    winsize size{.ws_row = 24, .ws_col = 61, .ws_xpixel = 0, .ws_ypixel = 0};
    int fds[2] = {-1, -1};
    if (::openpty(&fds[0], &fds[1], nullptr, nullptr, &size) != 0) return;
    master = UniqueFd(fds[0]);
    slave = UniqueFd(fds[1]);
  }
  UniqueFd master;
  UniqueFd slave;
};

TEST(Console, IsPlainInAFile) {
  const Variable terminal("TERM", "xterm");
  const UniqueFd file(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Console console = console_of(file.get());
  EXPECT_FALSE(console.live);
  EXPECT_FALSE(console.colour);
  EXPECT_EQ(console.columns, kPlainColumns);
  EXPECT_EQ(painted("error", Colour::kRed, console), "error");
}

TEST(Console, IsAsWideAsItsTerminalAndHasColours) {
  const Pty pty;
  if (!pty.slave.valid()) GTEST_SKIP() << "no terminal to be had here (/dev/pts)";
  const Variable terminal("TERM", "xterm");
  const Variable colours("NO_COLOR", "");
  const Console console = console_of(pty.slave.get());
  EXPECT_TRUE(console.live);
  EXPECT_EQ(console.columns, 61U);
  EXPECT_EQ(painted("error", Colour::kRed, console), "\x1b[31merror\x1b[0m");
}

TEST(Console, RespectsNoColourAndDumbTerminals) {
  const Pty pty;
  if (!pty.slave.valid()) GTEST_SKIP() << "no terminal to be had here (/dev/pts)";
  const Variable colours("NO_COLOR", "1");
  {
    const Variable terminal("TERM", "xterm");
    EXPECT_TRUE(console_of(pty.slave.get()).live);
    EXPECT_FALSE(console_of(pty.slave.get()).colour);
  }
  const Variable terminal("TERM", "dumb");
  EXPECT_FALSE(console_of(pty.slave.get()).live);
}

TEST(Console, KnowsUtf8FromTheLocale) {
  const Variable all("LC_ALL", "");
  const Variable kind("LC_CTYPE", "C");
  const Variable language("LANG", "de_DE.UTF-8");
  EXPECT_FALSE(console_of(0).utf8) << "LC_CTYPE is set and comes first";
  const Variable all_now("LC_ALL", "C.utf8");
  EXPECT_TRUE(console_of(0).utf8);
}

TEST(ProgressBar, IsFullAtItsEndOnly) {
  EXPECT_EQ(progress_bar(0, 7), "[.......]");
  EXPECT_EQ(progress_bar(0.999, 7), "[######.]");
  EXPECT_EQ(progress_bar(1, 7), "[#######]");
  EXPECT_EQ(progress_bar(17, 7), "[#######]");
  EXPECT_EQ(progress_bar(std::numeric_limits<double>::quiet_NaN(), 7), "[.......]");
}

}  // namespace
}  // namespace shoal
