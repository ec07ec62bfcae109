// together.h -- runs work on all ranks that fails on all of them when it fails on one.
#pragma once

#include <exception>
#include <string>

#include "shoal/comm/texts.h"
#include "shoal/core/error.h"

namespace shoal::checkpoint {

// Runs `work` on each rank. When it throws on any rank, all ranks throw DataError, so that none
// goes on to a different collective. `work` makes no collective calls. Collective.
template <class Work>
void together(comm::World& world, const char* what, Work&& work) {
  std::string error;
  try {
    work();
  } catch (const std::exception& e) {
    error = *e.what() == '\0' ? "unknown error" : e.what();
  }
  if (!world.control().any(!error.empty(), what)) return;
  for (const std::string& text : comm::all_texts(world, error, what)) {
    if (!text.empty()) throw DataError(text);
  }
}

}  // namespace shoal::checkpoint
