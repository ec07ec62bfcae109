// log_config.h -- which lines reach standard error.
#pragma once

#include <array>

#include "shoal/config/value.h"
#include "shoal/core/log.h"

namespace shoal::config {

template <>
inline constexpr std::array kNames<log::Level> = {
    Named{"debug", log::Level::kDebug}, Named{"info", log::Level::kInfo},
    Named{"warn", log::Level::kWarn}, Named{"error", log::Level::kError}};

struct LogConfig {
  log::Level level = log::Level::kInfo;
  bool all_ranks = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("level", self.level, "the least important lines that are printed");
    visit("all_ranks", self.all_ranks,
          "print debug and info from every rank, not only from rank 0");
  }
};

}  // namespace shoal::config
