// error_text.h -- the message of the error an action throws, for tests that check what people will
// read.
#pragma once

#include <string>

namespace shoal::tests {

template <class Expected, class Action>
std::string error_text(Action&& action) {
  try {
    action();
  } catch (const Expected& e) {
    return e.what();
  }
  return "(no error of the expected type was thrown)";
}

}  // namespace shoal::tests
