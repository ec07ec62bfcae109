#include "app/cmd_top.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

#include <unistd.h>

#include "shoal/cluster/run_owner.h"
#include "shoal/config/load.h"
#include "shoal/core/console.h"
#include "shoal/metrics/console_line.h"
#include "shoal/metrics/follow.h"
#include "shoal/metrics/live_view.h"
#include "shoal/metrics/shown.h"
#include "shoal/metrics/terminal.h"

#include "app/arguments.h"
#include "app/run_directory.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenDrawings(500);
constexpr double kQuietSeconds = 10;  // a run that writes nothing for so long is told to be quiet
constexpr double kQuietSteps = 20;    // or for so many of its steps

class Watched {
 public:
  explicit Watched(const fs::path& directory)
      : directory_(directory),
        total_steps_(config::load_or_throw({.file = directory / "config.yaml"}).train.steps),
        follower_(directory),
        view_(total_steps_) {}

  void read() {
    const metrics::Follower::New news = follower_.read();
    if (news.records_restarted) view_ = metrics::LiveView(total_steps_);
    for (const metrics::StepRecord& record : news.records) {
      view_.add(record);
      last_ = record;
    }
    if (news.texts_restarted) sample_.reset();
    if (!news.texts.empty()) sample_ = news.texts.back();
    owner_ = cluster::owner_of(directory_);
  }

  [[nodiscard]] bool goes_on() const { return owner_ && !owner_->gone; }

  [[nodiscard]] std::vector<std::string> lines(const Console& console) const {
    std::vector<std::string> lines = {state(console)};
    for (std::string& line : view_.lines(console)) lines.push_back(std::move(line));
    if (sample_) {
      metrics::ConsoleLine heading(console);
      heading.add(format("{} of step {}", sample_->tag, sample_->step));
      lines.push_back(heading.text());
      const std::string text = metrics::quoted(sample_->text, console);
      for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
      }
    }
    return lines;
  }

 private:
  [[nodiscard]] bool done() const { return last_ && last_->step >= total_steps_; }

  // Whether it runs, and who runs it.
  [[nodiscard]] std::string state(const Console& console) const {
    const double quiet = seconds_since_change(directory_ / "metrics.jsonl");
    metrics::ConsoleLine line(console);
    line.add(directory_.string());
    if (!owner_ && done()) {
      line.add("done", Colour::kGreen);
    } else if (!owner_) {
      line.add("stopped", Colour::kYellow);
      line.add("go on with --set train.init_from=resume");
    } else if (owner_->gone) {
      line.add("killed", Colour::kRed);
    } else if (!last_) {
      line.add("no step yet");
    } else if (quiet > std::max(kQuietSeconds, kQuietSteps * last_->dt)) {
      line.add("no step for " + metrics::shown(quiet, metrics::Show::kTime), Colour::kYellow);
    } else {
      line.add("running", Colour::kGreen);
    }
    if (owner_) line.add(owner_->described);
    return line.text();
  }

  const fs::path directory_;
  const int64_t total_steps_;
  metrics::Follower follower_;
  metrics::LiveView view_;
  std::optional<metrics::StepRecord> last_;
  std::optional<metrics::TextRecord> sample_;
  std::optional<cluster::OwnerSeen> owner_;
};

// Draws over what was drawn before, and leaves the cursor below it.
void draw(const std::vector<std::string>& lines, size_t lines_before) {
  std::string text = lines_before > 0 ? format("\x1b[{}A\r\x1b[J", lines_before) : "";
  for (const std::string& line : lines) text += line + "\n";
  std::cout << text << std::flush;
}

}  // namespace

int run_top(const std::vector<std::string>& arguments) {
  std::optional<std::string> run;
  bool once = false;
  Arguments command(
      "shoal top",
      "Show how a run is doing: progress, loss curve, speed, memory and the last sample.\n\n"
      "  shoal top runs/shakespeare\n"
      "  watch -n 60 shoal top --once\n\n"
      "It reads the files of the run and may run on any host that sees them. On a terminal the "
      "view\n"
      "is kept up to date until the run ends or Ctrl-C; elsewhere it is printed once.");
  command.option("RUN", run, kRunHelp, {.shown = "DIRECTORY"});
  command.flag("--once", once, "print the present state and end");
  if (!command.parse(arguments)) return 0;
  Watched watched(run_directory(run));
  for (size_t lines_before = 0;;) {
    watched.read();
    const Console console = console_of(STDOUT_FILENO);
    const std::vector<std::string> lines = watched.lines(console);
    draw(lines, lines_before);
    if (once || !console.live || !watched.goes_on()) return 0;
    lines_before = lines.size();
    std::this_thread::sleep_for(kBetweenDrawings);
  }
}

}  // namespace shoal::app
