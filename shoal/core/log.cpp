#include "shoal/core/log.h"

#include <memory>
#include <mutex>
#include <set>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "shoal/core/any_bytes.h"

namespace shoal::log {
namespace {

struct State {
  Options options;
  std::shared_ptr<spdlog::logger> logger;
};

// Subjects of warnings that are said once, whatever the log was told since.
struct Said {
  std::mutex mutex;
  std::set<std::string> subjects;
};

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

State make_state(const Options& options) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("shoal", std::move(sink));
  // A rank's number matters only where several ranks share a terminal.
  const std::string who = options.world_size > 1 ? format("[{}] ", options.rank) : "";
  logger->set_pattern("%T %^%L%$ " + who + "%v");
  logger->set_level(to_spdlog(options.level));
  return {options, std::move(logger)};
}

State& state() {
  static State instance = make_state({});
  return instance;
}

}  // namespace

void configure(const Options& options) { state() = make_state(options); }

bool enabled(Level level) {
  const Options& options = state().options;
  if (level < options.level) return false;
  return level >= Level::kWarn || options.rank == 0 || options.all_ranks;
}

void warn_once(const std::string& subject, const std::string& line) {
  static Said said;
  {
    const std::lock_guard lock(said.mutex);
    if (!said.subjects.insert(subject).second) return;
  }
  warn("{}", line);
}

// A line may quote what others wrote: names of files, messages of peers.
void write(Level level, const std::string& line) {
  state().logger->log(to_spdlog(level), spdlog::string_view_t(one_line(line)));
}

}  // namespace shoal::log
