// wrong.h -- a problem of an operation: thrown while a program is walked through, and reported with
// its line. Private to plan/.
#pragma once

#include <string>

namespace shoal::plan {

struct Wrong {
  std::string what;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw Wrong{what};
}

}  // namespace shoal::plan
