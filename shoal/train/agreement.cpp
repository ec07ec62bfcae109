#include "shoal/train/agreement.h"

#include "shoal/comm/texts.h"
#include "shoal/config/agreement.h"
#include "shoal/core/error.h"

namespace shoal::train {

void require_agreement(comm::World& world,
                       const config::RunConfig& config,
                       const std::string& data) {
  const std::string mine =
      config::shared_by_ranks(config) + format("identity of the data: {}\n", data);
  const std::string first = comm::text_of_first(world, mine, "what rank 0 was told");
  const std::string difference = config::difference(mine, first);
  if (!world.control().any(!difference.empty(), "whether all ranks were told the same")) return;
  const std::string named =
      difference.empty() ? "" : format("rank {} was started with {}", world.rank(), difference);
  for (const std::string& text : comm::all_texts(world, named, "what ranks were told")) {
    if (!text.empty())
      throw UsageError(text + " as rank 0: give all ranks the same config and the same data");
  }
}

}  // namespace shoal::train
