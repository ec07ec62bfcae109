#include "shoal/config/optimizer_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(OptimizerConfig& config, FieldList& list) {
  list.add("kind", config.kind,
           "adamw; muon for the matrices of the blocks, with adamw for everything else; or sgd");
  list.add("lr", config.lr, "learning rate at the top of its schedule", between(0.0, 1e3));
  list.add("lr_schedule", config.lr_schedule, "how the learning rate goes on after the warm-up");
  list.add("warmup", config.warmup, "steps in which the learning rate rises from 0",
           between(int64_t{0}, int64_t{1} << 40));
  list.add(
      "decay", config.decay,
      "steps of the way down: for warmup_stable_decay the last ones (auto: a tenth of all), for "
      "linear and cosine those after the warm-up (auto: all)",
      between(int64_t{1}, int64_t{1} << 40));
  list.add("floor", config.floor, "where the way down ends, as a share of lr", between(0.0, 1.0));
  list.add("scale_by_ranks", config.scale_by_ranks,
           "multiply lr by the square root of the data-parallel ranks");
  list.add("beta1", config.beta1, "decay of the mean of gradients", between(0.0, 0.999999));
  list.add("beta2", config.beta2, "decay of the mean of their squares", between(0.0, 0.999999));
  list.add("epsilon", config.epsilon, "added to the root of the latter", between(1e-30, 1.0));
  list.add("weight_decay", config.weight_decay, "of matrices; biases and norms have none",
           between(0.0, 10.0));
  list.add("momentum", config.momentum, "of muon and sgd", between(0.0, 0.999999));
  list.add("clip", config.clip, "largest norm of all gradients together; 0: any",
           between(0.0, 1e6));
  list.add(
      "skip_spikes", config.skip_spikes,
      "skip steps whose loss or gradient norm is so many standard deviations above the last 128; "
      "0: only what is not finite",
      between(0.0, 1e6));
  list.add("skip_limit", config.skip_limit,
           "steps that may be skipped one after the other before the run ends; 0: any number",
           between(int64_t{0}, int64_t{1} << 40));
}

}  // namespace shoal::config
