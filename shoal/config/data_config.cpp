#include "shoal/config/data_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(DataConfig& config, FieldList& list) {
  list.add("sources", config.sources, "directories that `shoal prepare` made", not_empty());
  list.add("weights", config.weights,
           "how often samples come from each source; none: from all alike", between(1e-12, 1e12));
  list.add("order", config.order, "of the samples");
  list.add("window_shards", config.window_shards, "shards that are open and mixed at a time",
           between(uint64_t{1}, uint64_t{1} << 20));
  list.add("packing", config.packing,
           "concatenate cuts the tokens anywhere; best_fit keeps documents whole where they fit "
           "(prepared with --pack)");
  list.add("separate_documents", config.separate_documents,
           "tokens see only their own document of a sample, and positions start anew in each");
  list.add("read", config.read, "whether each rank reads its batches, or one reads for its peers");
  list.add("threads", config.threads, "that read ahead, per rank", between(1, 256));
}

}  // namespace shoal::config
