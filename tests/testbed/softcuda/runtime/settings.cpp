#include "settings.h"

#include <cstdlib>
#include <string_view>

#include "report.h"

namespace softcuda {
namespace {

std::string text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

uint64_t number(const char* name, uint64_t otherwise) {
  const std::string value = text(name, "");
  if (value.empty()) return otherwise;
  char* end = nullptr;
  const uint64_t parsed = std::strtoull(value.c_str(), &end, 10);
  if (*end) die("the setting %s is '%s', which is no number", name, value.c_str());
  return parsed;
}

RaceMode race_mode() {
  const std::string mode = text("SOFTCUDA_RACES", "report");
  if (mode == "off") return RaceMode::kOff;
  if (mode == "report") return RaceMode::kReport;
  if (mode == "abort") return RaceMode::kAbort;
  die("the setting SOFTCUDA_RACES is '%s', not off, report or abort", mode.c_str());
}

HostOrder host_order() {
  const std::string mode = text("SOFTCUDA_HOST_ORDER", "threads");
  if (mode == "threads") return HostOrder::kThreads;
  if (mode == "process") return HostOrder::kProcess;
  die("the setting SOFTCUDA_HOST_ORDER is '%s', not threads or process", mode.c_str());
}

}  // namespace

const Settings& settings() {
  // Never destroyed: streams' threads read it until the process is gone.
  static const Settings& read = *new Settings{
      .devices = int(number("SOFTCUDA_DEVICES", 4)),
      .memory = size_t(number("SOFTCUDA_MEM_MB", 4096)) << 20,
      .architecture = int(number("SOFTCUDA_SM", 90)),
      .jitter_us = number("SOFTCUDA_JITTER_US", 0),
      .seed = number("SOFTCUDA_SEED", 1),
      .poison = number("SOFTCUDA_POISON", 1) != 0,
      .trace = number("SOFTCUDA_TRACE", 0) != 0,
      .races = race_mode(),
      .host_order = host_order(),
      .protect_pinned = number("SOFTCUDA_PROTECT_PINNED", 1) != 0,
      .operators = number("SOFTCUDA_OPERATORS", 1) != 0,
      .counts = text("SOFTCUDA_COUNTS", ""),
      .range_prefix = text("SOFTCUDA_RANGES", ""),
      .fail = text("SOFTCUDA_FAIL", ""),
      .spoil = text("SOFTCUDA_SPOIL", ""),
  };
  return read;
}

}  // namespace softcuda
