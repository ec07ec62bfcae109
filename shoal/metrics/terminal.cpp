#include "shoal/metrics/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <sys/ioctl.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/metrics/any_bytes.h"
#include "shoal/metrics/shown.h"

namespace shoal::metrics {
namespace {

constexpr size_t kColumns = 100;
constexpr int64_t kLinesPerHeading = 40;
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

size_t columns_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumns;
  return size.ws_col;
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

std::string bar(double share) {
  constexpr size_t kWidth = 20;
  const auto full = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kWidth);
  return "[" + std::string(full, '#') + std::string(kWidth - full, '.') + "]";
}

std::string live_line_of(const StepRecord& record, int64_t total_steps) {
  const double share = static_cast<double>(record.step) / static_cast<double>(total_steps);
  std::string line =
      format("{} {:5.1f}%  {}  loss {}  {}  {} tok/s", bar(share), share * 100,
             step_of_all(record.step, total_steps), shown(record.loss, Show::kLoss),
             shown(record.dt, Show::kTime), shown(record.tokens_per_second, Show::kRate));
  if (record.time_left) line += format("  {} left", shown(*record.time_left, Show::kTime));
  return line;
}

}  // namespace

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
    : fd_(fd), options_(options), live_(::isatty(fd) == 1) {
  SHOAL_CHECK(options.total_steps >= 0 && options.print_every > 0, "{} steps, a line every {}",
              options.total_steps, options.print_every);
  print_to(fd_, legend());
}

Terminal::~Terminal() { print_to(fd_, wiped()); }

bool Terminal::deserves_line(const StepRecord& record) const {
  return lines_ == 0 || record.step % options_.print_every == 0 ||
         record.step >= options_.total_steps || record.val_loss || !std::isfinite(record.loss);
}

void Terminal::write(const StepRecord& record) {
  if (live_) live_line_ = live_line_of(record, options_.total_steps);
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

void Terminal::text(int64_t /*step*/, std::string_view tag, std::string_view text) {
  const std::string name = one_line(tag, kColumns / 4);
  const size_t room = kColumns - 2 * kGap.size() - name.size();
  print(format("{}{}{}{}\n", kGap, name, kGap, one_line(text, room)));
}

void Terminal::print(const std::string& lines) {
  std::string text = wiped() + lines;
  if (live_ && !live_line_.empty()) {
    // Drawn one line further down, and the cursor left where it was: what others print meanwhile
    // finds an empty line.
    text += "\n" + one_line(live_line_, columns_of(fd_) - 1) + "\x1b[A\r";
    live_drawn_ = Clock::now();
  }
  print_to(fd_, text);
}

// From the cursor's line to the end of the screen.
std::string Terminal::wiped() const { return live_line_.empty() ? "" : "\r\x1b[J"; }

}  // namespace shoal::metrics
