// memory_case.h -- compares the measured tensor memory of a layout on real ranks with
// plan/memory.h.
#pragma once

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/core/files.h"
#include "shoal/core/format.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/memory.h"
#include "shoal/verify/side.h"

#include "tests/support/counting_allocator.h"
#include "tests/support/run_ranks.h"
#include "tests/support/temp_dir.h"

namespace shoal::tests {

using Sets = std::vector<std::string>;

inline config::RunConfig memory_config(Sets sets, const Sets& more, int ranks) {
  sets.insert(sets.end(), more.begin(), more.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

inline std::unique_ptr<comm::World> join_world(const cluster::Membership& me,
                                               const cluster::Environment& environment) {
  using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
  return comm::World::join(
      me, environment, {.backend = config::Backend::kGloo, .deadline = 120s, .rendezvous = 60s});
}

inline double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

inline double ratio(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

struct Measured {
  int64_t state = 0;  // between steps
  int64_t peak = 0;   // of the second step: the first allocates buffers
};

inline Measured measured(const config::RunConfig& config, comm::World& world) {
  CountingAllocator& memory = CountingAllocator::installed();
  const int64_t before = memory.current();
  const parallel::Ranks ranks(world, config);
  verify::Side side(config, ranks);
  const auto step = [&](int64_t number) {
    side.gradients_of(number);
    side.update();
  };
  step(0);
  Measured found{.state = memory.current() - before};
  found.peak = found.state + memory.peak_of([&] { step(1); });
  return found;
}

// Runs ranks of one job that count their memory, each with a table to write. Returns the tables, in
// the order of ranks.
inline std::vector<std::string> tables_of_ranks(
    int ranks, const std::function<void(comm::World& world, std::ostream& table)>& body) {
  constexpr const char* kFigures = "SHOAL_TEST_FIGURES";
  const TempDir figures;
  run_ranks(ranks,
            [&](const cluster::Membership& me, const cluster::Environment& environment) {
              CountingAllocator::installed();
              const auto world = join_world(me, environment);
              std::ofstream table(format("{}/{}", *environment.get(kFigures), me.rank));
              body(*world, table);
              world->leave();
            },
            {.environment = {{kFigures, figures.path().string()}}});
  std::vector<std::string> tables;
  for (int rank = 0; rank < ranks; ++rank)
    tables.push_back(read_file(figures / std::to_string(rank), 1 << 20));
  return tables;
}

// Runs each of `layouts` on all ranks of one job. The state must be what was counted, plus a few
// vectors; the memory of a step beyond it must be within a twentieth, and so must the peak when `large`
// makes these vectors negligible. Prints a table of the first and the
// last rank.
inline void compare_memory(int ranks,
                           const Sets& model,
                           const std::vector<Sets>& layouts,
                           bool large) {
  const auto tables = tables_of_ranks(ranks, [&](comm::World& world, std::ostream& table) {
    for (const Sets& layout : layouts) {
      std::string name;
      for (const std::string& set : layout) name += set.substr(set.find('.') + 1) + ' ';
      SCOPED_TRACE(name);
      const config::RunConfig config = memory_config(model, layout, ranks);
      const plan::Memory planned =
          plan::memory_of_step(config, plan::mesh_of(config.parallel, ranks), world.rank());
      const Measured found = measured(config, world);
      const double off = ratio(found.peak, planned.peak());
      table << format(
          "rank {} state {:7.1f} MiB, counted {:7.1f}; peak {:7.1f}, counted {:7.1f}: {:.3f}"
          " (units' weights {:.1f}, gradients {:.1f}, activations {:.1f})  {}\n",
          world.rank(), mib(found.state), mib(planned.state()), mib(found.peak),
          mib(planned.peak()), off, mib(planned.whole_weights), mib(planned.whole_gradients),
          mib(planned.activations), name);
      EXPECT_GE(found.state, planned.state());
      EXPECT_LT(found.state - planned.state(), 1 << 19);
      EXPECT_NEAR(ratio(found.peak - found.state, planned.peak() - planned.state()), 1, 0.05);
      if (large) {
        EXPECT_NEAR(off, 1, 0.05);
      }
    }
  });
  std::printf("%s%s", tables.front().c_str(), tables.back().c_str());
}

}  // namespace shoal::tests
