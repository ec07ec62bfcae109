#include "app/cmd_top.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

#include <unistd.h>

#include "shoal/cluster/restarts.h"
#include "shoal/cluster/run_owner.h"
#include "shoal/config/load.h"
#include "shoal/core/console.h"
#include "shoal/core/quantities.h"
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
// A launcher starts a job again within this.
constexpr Duration kUntilRestarted = cluster::RestartOptions().longest_wait * 2;

class Watched {
 public:
  explicit Watched(const fs::path& directory)
      : directory_(directory),
        config_(config_in(directory)),
        follower_(directory),
        view_(config_.train.steps) {}

  void read() {
    const metrics::Follower::New news = follower_.read();
    if (news.records_restarted) {  // the run goes on from an earlier step, perhaps to another one
      config_ = config_in(directory_);
      view_ = metrics::LiveView(config_.train.steps);
      last_.reset();
    }
    for (const metrics::StepRecord& record : news.records) {
      view_.add(record);
      last_ = record;
    }
    if (news.texts_restarted) sample_.reset();
    if (!news.texts.empty()) sample_ = news.texts.back();
    owner_ = cluster::owner_of(directory_);
    if (is_alive()) seen_alive_ = Clock::now();
  }

  // Whether more may come: a job that was lost may be started again.
  [[nodiscard]] bool goes_on() const {
    return is_alive() || (!done() && seen_alive_ && Clock::now() - *seen_alive_ < kUntilRestarted);
  }

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
  static config::RunConfig config_in(const fs::path& directory) {
    return config::load_or_throw({.file = directory / "config.yaml"});
  }

  [[nodiscard]] bool is_alive() const { return owner_ && !owner_->gone; }
  [[nodiscard]] bool done() const { return last_ && last_->step >= config_.train.steps; }

  // The longest time without news of a run that is well. A GPU's steps come together.
  [[nodiscard]] double quiet_seconds() const {
    const bool together = config_.train.device != config::DeviceKind::kCpu;
    const double steps =
        kQuietSteps + (together ? static_cast<double>(config_.train.log_every) : 0);
    return std::max(kQuietSeconds, steps * last_->dt);
  }

  // Whether it runs, and who runs it.
  [[nodiscard]] std::string state(const Console& console) const {
    const double quiet = seconds_since_change(directory_ / "metrics.jsonl");
    metrics::ConsoleLine line(console);
    line.add(directory_.string());
    if (!owner_ && done()) {
      line.add("done", Colour::kGreen);
    } else if (!owner_) {
      line.add("stopped", Colour::kYellow);
      line.add(goes_on() ? "waiting for a restart" : "go on with --set train.init_from=resume");
    } else if (owner_->gone) {
      line.add("killed", Colour::kRed);
      if (goes_on()) line.add("waiting for a restart");
    } else if (!last_) {
      line.add("no step yet");
    } else if (quiet > quiet_seconds()) {
      line.add("no step for " + metrics::shown(quiet, metrics::Show::kTime), Colour::kYellow);
    } else {
      line.add("running", Colour::kGreen);
    }
    if (owner_) line.add(owner_->described);
    return line.text();
  }

  const fs::path directory_;
  config::RunConfig config_;
  metrics::Follower follower_;
  metrics::LiveView view_;
  std::optional<metrics::StepRecord> last_;
  std::optional<metrics::TextRecord> sample_;
  std::optional<cluster::OwnerSeen> owner_;
  std::optional<Clock::time_point> seen_alive_;
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
      "is kept up to date until Ctrl-C or the end of the run, restarts included; elsewhere it is "
      "printed\nonce.");
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
