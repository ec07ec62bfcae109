#include "shoal/config/run_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(IdentityConfig& config, FieldList& list) {
  list.add("name", config.name, "what the run and its directory are called", file_name());
  list.add("directory", config.directory, "directory that holds the run directories", not_empty());
  list.add("seed", config.seed,
           "where all randomness starts: initial weights, order of the data, dropout");
  list.add("take_over", config.take_over,
           "take the run's directory from the job that has it, though that may still be there");
}

void list_fields(RunConfig& config, FieldList& list) {
  list.add("version", config.version,
           "version of this list of keys; a file without it is read as the current one",
           at_least(1),
           at_most(kSchemaVersion, "the file was written for a newer shoal: install that one"));
  list.add("run", config.run, "name, place and seed of the run");
  list.add("model", config.model, "the shape of the decoder");
  list.add("data", config.data, "which tokens, in which order");
  list.add("optimizer", config.optimizer, "how gradients become new weights");
  list.add("train", config.train, "how long, in what precision, and what is left behind");
  list.add("parallel", config.parallel,
           "how the ranks are arranged; the degrees multiply to all ranks");
  list.add("comm", config.comm, "how ranks talk to each other");
  list.add("plan", config.plan, "what the run expects of itself");
  list.add("log", config.log, "lines on standard error");
}

}  // namespace shoal::config
