// log_config.h -- which lines reach standard error.
#pragma once

#include <array>

#include "shoal/config/value.h"
#include "shoal/core/log.h"

namespace shoal::config {

class FieldList;

template <>
inline constexpr std::array kNames<log::Level> = {
    Named{"debug", log::Level::kDebug}, Named{"info", log::Level::kInfo},
    Named{"warn", log::Level::kWarn}, Named{"error", log::Level::kError}};

struct LogConfig {
  log::Level level = log::Level::kInfo;
  bool all_ranks = false;
};

void list_fields(LogConfig& config, FieldList& list);

}  // namespace shoal::config
