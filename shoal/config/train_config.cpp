#include "shoal/config/train_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(TrainConfig& config, FieldList& list) {
  constexpr int64_t kMost = int64_t{1} << 40;
  list.add("steps", config.steps, "updates of the weights", between(int64_t{0}, kMost));
  list.add("batch", config.batch, "sequences of a step, of all ranks together",
           between(int64_t{1}, int64_t{1} << 30));
  list.add(
      "micro_batch", config.micro_batch,
      "sequences that a rank computes at once; the gradients of a step's are added up. auto: all",
      between(int64_t{1}, int64_t{1} << 30));
  list.add("precision", config.precision,
           "of the computation; below fp32, weights and optimizer are also kept in fp32");
  list.add("recompute", config.recompute,
           "what the backward pass computes again instead of keeping it: selective the cheap "
           "functions in front of matrices, full whole blocks");
  list.add("device", config.device, "auto: cuda where there is one");
  list.add("threads", config.threads,
           "of a rank's computation on the CPU; auto: cores / local ranks", between(1, 4096));
  list.add("init_from", config.init_from,
           "scratch, resume (the newest checkpoint of this run, else scratch), or a Hugging Face "
           "directory",
           not_empty());
  list.add("eval_only", config.eval_only, "evaluate once and end");
  list.add("log_every", config.log_every, "steps between lines", between(int64_t{1}, kMost));
  list.add("eval_every", config.eval_every, "steps between evaluations; 0: none",
           between(int64_t{0}, kMost));
  list.add("eval_batches", config.eval_batches,
           "batches of an evaluation, each of train.batch sequences", between(int64_t{1}, kMost));
  list.add("sample_prompt", config.sample_prompt,
           "what the text sampled at an evaluation begins with");
  list.add("sample_tokens", config.sample_tokens, "tokens sampled at an evaluation",
           between(int64_t{0}, int64_t{1} << 20));
  list.add("save_every", config.save_every,
           "steps between checkpoints; 0: only the last one, and one when a signal stops the run",
           between(int64_t{0}, kMost));
  list.add("keep", config.keep, "newest checkpoints that are kept beside the best one",
           between(1, 100'000));
  list.add("keep_every", config.keep_every,
           "checkpoints of steps that this divides are kept as well; 0: none",
           between(int64_t{0}, kMost));
  list.add(
      "background_save", config.background_save,
      "go on while a checkpoint is written; takes host memory for a copy of what a rank writes");
  list.add("compare_every", config.compare_every,
           "steps between comparisons of the bits that replicas hold, which are also made before "
           "each save; 0: none",
           between(int64_t{0}, kMost));
  list.add(
      "replay_every", config.replay_every,
      "steps between those that are computed twice, to see whether all bits come out again; 0: "
      "none",
      between(int64_t{0}, kMost));
  list.add("trace_steps", config.trace_steps,
           "steps whose operations are written to trace-step-N.json, for Perfetto",
           between(int64_t{1}, kMost));
  list.add("prometheus_port", config.prometheus_port,
           "port of 127.0.0.1 on which rank 0 answers GET /metrics; 0: none", between(0, 65'535));
}

}  // namespace shoal::config
