// transport.h -- the seam behind which every backend stands: it makes a c10d::Backend for each
// group of a job. Private to comm/. To add one: a directory with make_<name>_transport(), and a
// line in backends.cpp.
#pragma once

#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/comm/group_spec.h"
#include "shoal/core/units.h"

namespace shoal::comm {

// What the library underneath is given as its own timeout. Ours come first and say more; its clock
// begins earlier, when the call does and not when somebody waits.
constexpr Duration beyond(Duration deadline) { return 2 * deadline + std::chrono::seconds(30); }

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual at::DeviceType device() const { return at::kCPU; }

  // Called by every rank of the job at the same point, each with the group it belongs to; these
  // groups partition the job. `color` numbers them. Groups of one rank never get here: they are
  // local.
  virtual c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int color) = 0;

  // The same group as the library underneath makes it, without what comm/ puts above it: for
  // measuring the difference.
  virtual c10::intrusive_ptr<c10d::Backend> make_bare_group(const GroupSpec& group, int color) {
    return make_group(group, color);
  }

  // All groups there will be have been made (until make_group is called again): strangers may be
  // shut out.
  virtual void close_doors() {}
};

}  // namespace shoal::comm
