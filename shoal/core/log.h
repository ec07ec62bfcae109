// log.h -- log lines for people, on standard error.
//
//   log::configure({.rank = 3, .world_size = 8});
//   log::info("mesh {}", mesh.describe());      // rank 0 only, unless all_ranks is set
//   log::warn("{} is slow", host);              // every rank, with the rank in front
//
// The logger is the only process-wide object of shoal. configure() is called once, before other
// threads start; the rest may be called from any thread. Metrics do not go through here.
#pragma once

#include <string>
#include <string_view>

#include "shoal/core/format.h"

namespace shoal::log {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Options {
  Level level = Level::kInfo;
  int rank = 0;
  int world_size = 1;
  bool all_ranks = false;  // debug and info from every rank, not only from rank 0
};

void configure(const Options& options);

// Returns whether this rank prints lines of this level.
[[nodiscard]] bool enabled(Level level);

void write(Level level, const std::string& line);

// Logs a warning once per `subject`; later calls with the same subject do nothing.
void warn_once(const std::string& subject, const std::string& line);

template <class... Arguments>
void debug(std::string_view pattern, const Arguments&... arguments) {
  if (enabled(Level::kDebug)) write(Level::kDebug, format(pattern, arguments...));
}

template <class... Arguments>
void info(std::string_view pattern, const Arguments&... arguments) {
  if (enabled(Level::kInfo)) write(Level::kInfo, format(pattern, arguments...));
}

template <class... Arguments>
void warn(std::string_view pattern, const Arguments&... arguments) {
  if (enabled(Level::kWarn)) write(Level::kWarn, format(pattern, arguments...));
}

template <class... Arguments>
void error(std::string_view pattern, const Arguments&... arguments) {
  if (enabled(Level::kError)) write(Level::kError, format(pattern, arguments...));
}

}  // namespace shoal::log
