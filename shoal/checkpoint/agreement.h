// agreement.h -- work of some ranks that fails for all of them when it fails for one.
#pragma once

#include <string>

#include "shoal/comm/texts.h"
#include "shoal/core/error.h"

namespace shoal::checkpoint {

// Collective. A DataError of any rank is thrown on all.
template <class Work>
void together(comm::World& world, const char* what, Work&& work) {
  std::string error;
  try {
    work();
  } catch (const DataError& e) {
    error = e.what();
  }
  if (!world.control().any(!error.empty(), what)) return;
  for (const std::string& text : comm::all_texts(world, error, what)) {
    if (!text.empty()) throw DataError(text);
  }
}

}  // namespace shoal::checkpoint
