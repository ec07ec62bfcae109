// random_case.h -- models, batches and layouts drawn at random, to be compared with one rank; and simpler ones of the same
// kind, to find what of a case matters.
//
//   RandomCase found = draw_case(seed, /*number=*/17);
//   found.command()                                 // "shoal verify --ranks 6 --set model.layers=3 ..."
//   for (const RandomCase& candidate : simpler(found)) ...     // each simpler in one thing
//
// Lists of cases miss what they do not list: everything that a config can say of a model and its layout is drawn here, in
// sizes that divide nothing. Pure functions, without torch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/config/run_config.h"

namespace shoal::verify {

struct RandomCase {
  int ranks = 1;
  std::map<std::string, std::string>
      sets;  // key -> value, of everything that is not left at its default

  // UsageError when it cannot be run.
  [[nodiscard]] config::RunConfig config() const;
  // What a person types to see the same.
  [[nodiscard]] std::string command() const;

  bool operator==(const RandomCase&) const = default;
};

struct DrawOptions {
  int most_ranks = 8;
};

// One that can be run, the same whenever it is drawn.
RandomCase draw_case(uint64_t seed, uint64_t number, const DrawOptions& options = {});

// The same model, optimizer and batches on another layout of any number of ranks.
RandomCase on_another_layout(const RandomCase& of,
                             uint64_t seed,
                             uint64_t number,
                             const DrawOptions& options = {});

// Those that can be run and are simpler in one thing: fewer ranks first, then features, then sizes.
std::vector<RandomCase> simpler(const RandomCase& of);

// For a comparison no data and no weights of others are needed; every step has the whole learning rate, and the same one
// on any number of ranks. In fp32 and bf16 the epsilon of AdamW is at least 1e-3: it divides a gradient by its own size, and
// where that is round-off, a weight would go the whole learning rate in either direction.
config::RunConfig compared(config::RunConfig config);

}  // namespace shoal::verify
