// agreement.h -- work of some ranks that fails for all of them when it fails for one.
#pragma once

#include <exception>
#include <string>

#include "shoal/comm/texts.h"
#include "shoal/core/error.h"

namespace shoal::checkpoint {

// Collective. What any rank throws, memory that is not there for example, is a DataError on all: none of them
// goes on to another collective than the others. `work` has none of its own.
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
