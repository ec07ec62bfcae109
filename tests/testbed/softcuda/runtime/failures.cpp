#include "failures.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "report.h"
#include "settings.h"

namespace softcuda {
namespace {

struct Failure {
  int device = -1;
  std::string operation;
  long number = 0;
};

Failure parse(const std::string& text) {
  if (text.empty()) return {};
  // Operators have colons in their names, so the number is what follows the last one.
  const size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string::npos || first == last) {
    die("the setting SOFTCUDA_FAIL is '%s', not device:operation:n", text.c_str());
  }
  return {.device = std::atoi(text.substr(0, first).c_str()),
          .operation = text.substr(first + 1, last - first - 1),
          .number = std::atol(text.substr(last + 1).c_str())};
}

std::atomic<long> seen{0};

}  // namespace

bool fails_by_setting(int device, const char* operation) {
  static const Failure& wanted = *new Failure(parse(settings().fail));
  if (wanted.device != device || wanted.operation != operation) return false;
  return ++seen == wanted.number;
}

}  // namespace softcuda
