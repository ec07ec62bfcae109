#include "shoal/train/agreement.h"

#include "shoal/comm/texts.h"
#include "shoal/config/agreement.h"
#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/plan/schedule_text.h"

namespace shoal::train {
namespace {

std::string compared_text(const config::RunConfig& config, const DataOfRank& data) {
  std::string text =
      config::shared_by_ranks(config) + format("identity of the data: {}\n", data.identity);
  text += "tokens of train.sample_prompt:";
  for (const data::TokenId token : data.prompt) text += format(" {}", token);
  text += data.prompt.empty() ? " none, without a tokenizer\n" : "\n";
  if (const std::optional<std::string>& file = config.parallel.schedule_file)
    text += format("hash of the pipeline schedule: {}\n",
                   xxh3_128(plan::to_text(plan::read_schedule(*file))).hex());
  return text;
}

}  // namespace

void require_agreement(comm::World& world,
                       const config::RunConfig& config,
                       const DataOfRank& data) {
  const std::string mine = compared_text(config, data);
  const std::string first = comm::text_of_first(world, mine, "config of rank 0");
  const std::string difference = config::difference(mine, first);
  if (!world.control().any(!difference.empty(), "whether all ranks have the same config")) return;
  const std::string named =
      difference.empty() ? "" : format("rank {} was started with {}", world.rank(), difference);
  for (const std::string& text : comm::all_texts(world, named, "differences of configs")) {
    if (!text.empty())
      throw UsageError(text + " as rank 0: give all ranks the same config and the same data");
  }
}

}  // namespace shoal::train
