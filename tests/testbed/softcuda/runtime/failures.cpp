#include "failures.h"

#include <cstdlib>

#include "report.h"
#include "settings.h"

namespace softcuda {

AskedTask::AskedTask(const char* setting, const std::string& text) {
  if (text.empty()) return;
  // Operators have colons in their names, so the number is what follows the last one.
  const size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string::npos || first == last) {
    die("the setting %s is '%s', not device:operation:n", setting, text.c_str());
  }
  device_ = std::atoi(text.substr(0, first).c_str());
  operation_ = text.substr(first + 1, last - first - 1);
  number_ = std::atol(text.substr(last + 1).c_str());
}

bool AskedTask::is(int device, const char* operation) {
  return device == device_ && operation_ == operation && ++seen_ == number_;
}

AskedTask& task_that_fails() {
  static auto& made = *new AskedTask("SOFTCUDA_FAIL", settings().fail);
  return made;
}

AskedTask& task_that_is_spoilt() {
  static auto& made = *new AskedTask("SOFTCUDA_SPOIL", settings().spoil);
  return made;
}

}  // namespace softcuda
