// together.h -- runs a function on all ranks; when it fails on one rank, it fails on all of them.
#pragma once

#include <exception>
#include <optional>

#include "shoal/comm/world.h"
#include "shoal/core/error.h"

namespace shoal::checkpoint {

// Throws on all ranks the error of the lowest rank that has one, with its exit code. Collective.
void throw_first(comm::World& world, const char* what, const std::optional<DataError>& mine);

// Runs `work` on each rank. When it throws on any rank, all ranks throw DataError, so that none
// goes on to a different collective. `work` makes no collective calls. Collective.
template <class Work>
void together(comm::World& world, const char* what, Work&& work) {
  std::optional<DataError> error;
  try {
    work();
  } catch (const DataError& e) {
    error = e;
  } catch (const std::exception& e) {
    error.emplace(e.what());
  }
  throw_first(world, what, error);
}

}  // namespace shoal::checkpoint
