// random_case.h -- random models, batches and layouts to compare with one rank, and simpler
// variants to shrink a failing case.
//
//   RandomCase found = draw_case(seed, /*number=*/17);
//   found.command()                                 // "shoal verify --ranks 6 --set model.layers=3 ..."
//   for (const RandomCase& candidate : simpler(found)) ...     // each simpler in one thing
//
// Everything that a config can say about a model and its layout is drawn here, in sizes that do not
// divide evenly. All functions are pure, without torch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/config/run_config.h"

namespace shoal::verify {

struct RandomCase {
  int ranks = 1;
  std::map<std::string, std::string> sets;  // key -> value, without defaults

  // Throws UsageError when the case cannot be run.
  [[nodiscard]] config::RunConfig config() const;
  // Returns the command line that reproduces the case.
  [[nodiscard]] std::string command() const;

  bool operator==(const RandomCase&) const = default;
};

struct DrawOptions {
  int most_ranks = 8;
};

// Returns a case that can be run; a pure function of its arguments.
RandomCase draw_case(uint64_t seed, uint64_t number, const DrawOptions& options = {});

// Returns the same model, optimizer and batches on another layout, with any number of ranks.
RandomCase on_another_layout(const RandomCase& of,
                             uint64_t seed,
                             uint64_t number,
                             const DrawOptions& options = {});

// Returns the cases that can be run and are simpler in one thing: fewer ranks first, then features,
// then sizes.
std::vector<RandomCase> simpler(const RandomCase& of);

// Returns the config of a comparison: without data and pre-trained weights, with a constant
// learning rate that does not depend on the number of ranks. In fp32 and bf16 AdamW's epsilon is at
// least 1e-3: AdamW divides a gradient by its own size, and where that is round-off, a weight would
// move by the whole learning rate in either direction.
config::RunConfig compared(config::RunConfig config);

}  // namespace shoal::verify
