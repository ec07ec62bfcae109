#include "shoal/metrics/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <unistd.h>

#include "shoal/core/any_bytes.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/metrics/shown.h"

namespace shoal::metrics {
namespace {

constexpr int64_t kLinesPerHeading = 40;
constexpr size_t kMostQuotedLines = 12;
constexpr Duration kBetweenDrawings(100);
constexpr std::string_view kGap = "  ";

void print_to(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::string step_of_all(int64_t step, int64_t total_steps) {
  return format("{}/{}", step, total_steps);
}

// Right-aligned cells of the columns of the progress line.
template <class CellOf>
std::string row(int64_t total_steps, const CellOf& cell_of) {
  std::string line;
  for (const Field& field : fields()) {
    if (field.heading.empty()) continue;
    const bool step = field.name == "step";
    const size_t width = step ? step_of_all(total_steps, total_steps).size() : field.width;
    if (!line.empty()) line += kGap;
    line += format("{:>{}}", cell_of(field), std::max(width, field.width));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string quoted(std::string_view text, const Console& console) {
  const std::string margin = std::string(kGap) + (console.utf8 ? "│ " : "| ");
  const size_t columns = console.columns - std::min(console.columns - 1, columns_of(margin) + 1);
  std::string lines;
  for (size_t line = 0; line < kMostQuotedLines && !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines += painted(margin, Colour::kDim, console) + one_line(text.substr(0, end), columns) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string legend() {
  std::string text;
  for (const Field& field : fields()) {
    if (!field.heading.empty()) text += format("  {:<10}{}\n", field.heading, field.help);
  }
  return text + "\n";
}

std::string headings(int64_t total_steps) {
  return row(total_steps, [](const Field& field) { return std::string(field.heading); });
}

std::string line_of(const StepRecord& record, int64_t total_steps) {
  return row(total_steps, [&record, total_steps](const Field& field) {
    if (field.name == "step") return step_of_all(record.step, total_steps);
    const std::optional<Number> number = field.of(record);
    return number ? shown(*number, field.show) : std::string();
  });
}

Terminal::Terminal(int fd, const TerminalOptions& options)
    : fd_(fd), options_(options), live_(console_of(fd).live), view_(options.total_steps) {
  SHOAL_CHECK(options.total_steps >= 0 && options.print_every > 0, "{} steps, a line every {}",
              options.total_steps, options.print_every);
  if (options.legend) print_to(fd_, legend());
}

Terminal::~Terminal() { print_to(fd_, wiped()); }

bool Terminal::deserves_line(const StepRecord& record) const {
  return lines_ == 0 || record.step % options_.print_every == 0 ||
         record.step >= options_.total_steps || record.val_loss || !std::isfinite(record.loss);
}

void Terminal::write(const StepRecord& record) {
  if (live_) view_.add(record);
  if (deserves_line(record)) {
    std::string lines = line_of(record, options_.total_steps);
    if (lines_ % kLinesPerHeading == 0) {
      lines = (lines_ > 0 ? "\n" : "") + headings(options_.total_steps) + lines;
    }
    ++lines_;
    print(lines);
  } else if (Clock::now() - live_drawn_ >= kBetweenDrawings) {
    print("");
  }
}

void Terminal::text(int64_t step, std::string_view tag, std::string_view text) {
  const std::string name = one_line(tag, kPlainColumns / 4);
  if (live_) {
    print(format("\n{}{} of step {}\n{}\n", kGap, name, step, quoted(text, console_of(fd_))));
    return;
  }
  const size_t room = kPlainColumns - 2 * kGap.size() - name.size();
  print(format("{}{}{}{}\n", kGap, name, kGap, one_line(text, room)));
}

void Terminal::print(const std::string& lines) {
  std::string text = wiped() + lines;
  if (live_ && !view_.empty()) {
    // Drawn below an empty line, where the cursor is left: what others print meanwhile goes there.
    const std::vector<std::string> view = view_.lines(console_of(fd_));
    for (const std::string& line : view) text += "\n" + line;
    text += format("\x1b[{}A\r", view.size());
    live_drawn_ = Clock::now();
    drawn_ = true;
  }
  print_to(fd_, text);
}

// From the cursor's line to the end of the screen.
std::string Terminal::wiped() const { return drawn_ ? "\r\x1b[J" : ""; }

}  // namespace shoal::metrics
