#include "shoal/metrics/terminal.h"

#include <limits>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/files.h"

#include "tests/support/temp_dir.h"

namespace shoal::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

// Every figure as wide as it gets.
StepRecord widest(int64_t step) {
  return {.step = step,
          .loss = 99.99994,
          .val_loss = -99.9999,
          .lr = 1.234e-10,
          .grad_norm = 99.9994,
          .dt = 59.94,
          .tokens_per_second = 999.9e6,
          .mfu = 1.0,
          .memory_bytes = int64_t{1023} << 30,
          .time_left = 59 * 60 + 59};
}

StepRecord small(int64_t step) {
  return {.step = step, .loss = 4.125, .dt = 0.45, .tokens_per_second = 12345, .time_left = 200};
}

// What a Terminal prints into a file.
class Printed {
 public:
  std::string text() const { return read_file(dir_ / "out", 1 << 20); }
  int fd() const { return fd_.get(); }

 private:
  tests::TempDir dir_;
  UniqueFd fd_ = create_file(dir_ / "out");
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Line, FitsIntoAHundredColumns) {
  for (const int64_t total : {int64_t{1}, int64_t{20'000}, int64_t{10'000'000}}) {
    EXPECT_LE(line_of(widest(total), total).size(), 101U) << line_of(widest(total), total);
    EXPECT_EQ(headings(total).size(), line_of(widest(total), total).size());
  }
}

TEST(Line, IsAlignedWithItsHeadings) {
  EXPECT_EQ(
      headings(2000) + line_of(widest(17), 2000) + line_of(small(100), 2000),
      "     step     loss  val_loss        lr    norm      dt   tok/s     mfu         mem    left\n"
      "  17/2000  99.9999  -99.9999  1.23e-10  99.999  59.9 s  999.9M  100.0%  1023.0 GiB  59m59s\n"
      " 100/2000   4.1250                   0          450 ms   12.3k                       "
      "3m20s\n");
}

TEST(Legend, ExplainsEveryColumn) {
  for (const Field& field : fields()) {
    if (field.heading.empty()) continue;
    EXPECT_THAT(legend(), HasSubstr("  " + std::string(field.heading) + " ")) << field.name;
    EXPECT_THAT(legend(), HasSubstr("  " + std::string(field.help) + "\n"));
  }
  for (size_t at = 0; at < legend().size(); at = legend().find('\n', at) + 1) {
    EXPECT_LE(legend().find('\n', at) - at, 100U);
  }
}

TEST(Terminal, PrintsPlainLinesWhereThereIsNoTerminal) {
  const Printed printed;
  {
    Terminal terminal(printed.fd(), {.total_steps = 2000, .print_every = 5});
    for (int64_t step = 3; step <= 12; ++step) terminal.write(small(step));
    terminal.text(12, "sample", "two\nlines");
  }
  EXPECT_EQ(printed.text(), legend() + headings(2000) + line_of(small(3), 2000) +
                                line_of(small(5), 2000) + line_of(small(10), 2000) +
                                "  sample  two\\nlines\n");
}

TEST(Terminal, PrintsWhatMattersWheneverItComes) {
  const Printed printed;
  Terminal terminal(printed.fd(), {.total_steps = 23, .print_every = 10});
  StepRecord validated = small(4);
  validated.val_loss = 5;
  StepRecord broken = small(7);
  broken.loss = std::numeric_limits<double>::quiet_NaN();
  for (int64_t step = 1; step <= 23; ++step) {
    terminal.write(step == 4 ? validated : step == 7 ? broken : small(step));
  }
  EXPECT_EQ(printed.text(), legend() + headings(23) + line_of(small(1), 23) +
                                line_of(validated, 23) + line_of(broken, 23) +
                                line_of(small(10), 23) + line_of(small(20), 23) +
                                line_of(small(23), 23));
}

TEST(Terminal, RepeatsTheHeadings) {
  const Printed printed;
  Terminal terminal(printed.fd(), {.total_steps = 2000});
  for (int64_t step = 1; step <= 81; ++step) terminal.write(small(step));
  EXPECT_EQ(count(printed.text(), headings(2000)), 3U);
}

TEST(Terminal, FitsLongTextsIntoALine) {
  const Printed printed;
  Terminal terminal(printed.fd(), {.total_steps = 1});
  terminal.text(1, std::string(200, 't'), std::string(1000, 'x'));
  EXPECT_EQ(printed.text().size(), legend().size() + 101);
}

// Reads until the text ends so: what was written to a terminal arrives in parts.
std::string read_until(int fd, const std::string& end) {
  std::string text;
  while (!text.ends_with(end)) {
    std::string part(1 << 16, '\0');
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got <= 0) break;
    text += part.substr(0, static_cast<size_t>(got));
  }
  return text;
}

// A terminal begins a line where a file only ends one.
std::string on_terminal(const std::string& text) {
  std::string shown;
  for (const char letter : text)
    shown += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  return shown;
}

// What a Terminal prints on a terminal of 60 columns without colours.
class Screen : public testing::Test {
 protected:
  Screen() {
    ::setenv("TERM", "xterm", 1);
    ::setenv("NO_COLOR", "1", 1);
    ::setenv("LC_ALL", "C", 1);
    winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    int master_fd = -1;
    int slave_fd = -1;
    EXPECT_EQ(::openpty(&master_fd, &slave_fd, nullptr, nullptr, &size), 0);
    master = UniqueFd(master_fd);
    slave = UniqueFd(slave_fd);
  }

  UniqueFd master;
  UniqueFd slave;
};

TEST_F(Screen, HasALiveViewBelowTheLines) {
  {
    Terminal terminal(slave.get(), {.total_steps = 2000, .print_every = 500});
    EXPECT_THAT(read_until(master.get(), on_terminal(legend())), Not(HasSubstr("\x1b")));
    terminal.write(small(501));
    EXPECT_THAT(read_until(master.get(), "\x1b[3A\r"),
                HasSubstr("\r\n\r\n[######..................]  25.1%  501/2000  3m20s left"
                          "\r\nloss 4.1250  _\r\n12.3k tok/s  450 ms a step\x1b[3A\r"))
        << "below an empty line";
  }
  EXPECT_EQ(read_until(master.get(), "\x1b[J"), "\r\x1b[J") << "wiped at the end";
}

TEST_F(Screen, ShowsTheLinesOfASample) {
  Terminal terminal(slave.get(), {.total_steps = 2000});
  read_until(master.get(), on_terminal(legend()));
  terminal.text(500, "sample", "ROMEO:\nO \x1b[2J, " + std::string(80, 'x'));
  EXPECT_EQ(read_until(master.get(), "...\r\n\r\n"),
            "\r\n  sample of step 500\r\n  | ROMEO:\r\n  | O \\x1b[2J, " + std::string(41, 'x') +
                "...\r\n\r\n");
}

}  // namespace
}  // namespace shoal::metrics
