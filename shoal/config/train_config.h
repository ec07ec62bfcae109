// train_config.h -- how long a run goes, in what precision, and what it leaves behind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"

namespace shoal::config {

enum class Precision { kFp32, kTf32, kBf16, kFp16, kFp64 };
enum class Recompute { kNone, kSelective, kFull };
enum class DeviceKind { kAuto, kCpu, kCuda };

template <>
inline constexpr std::array kNames<Precision> = {
    Named{"fp32", Precision::kFp32}, Named{"tf32", Precision::kTf32},
    Named{"bf16", Precision::kBf16}, Named{"fp16", Precision::kFp16},
    Named{"fp64", Precision::kFp64}};

template <>
inline constexpr std::array kNames<Recompute> = {Named{"none", Recompute::kNone},
                                                 Named{"selective", Recompute::kSelective},
                                                 Named{"full", Recompute::kFull}};

template <>
inline constexpr std::array kNames<DeviceKind> = {Named{"auto", DeviceKind::kAuto},
                                                  Named{"cpu", DeviceKind::kCpu},
                                                  Named{"cuda", DeviceKind::kCuda}};

// The values of init_from beside a directory.
constexpr const char* kFromScratch = "scratch";
constexpr const char* kFromResume = "resume";

struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 16;
  std::optional<int64_t> micro_batch = std::nullopt;
  Precision precision = Precision::kFp32;
  Recompute recompute = Recompute::kNone;
  DeviceKind device = DeviceKind::kAuto;
  std::optional<int> threads = std::nullopt;
  std::string init_from = kFromScratch;
  bool eval_only = false;
  int64_t log_every = 10;
  int64_t eval_every = 250;
  int64_t eval_batches = 20;
  std::string sample_prompt = "The";
  int64_t sample_tokens = 0;
  int64_t save_every = 1000;
  int keep = 2;
  int64_t keep_every = 0;
  bool background_save = true;
  int64_t compare_every = 100;
  int64_t replay_every = 0;
  std::vector<int64_t> trace_steps = {};
  int prometheus_port = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    constexpr int64_t kMost = int64_t{1} << 40;
    visit("steps", self.steps, "updates of the weights", between(int64_t{0}, kMost));
    visit("batch", self.batch, "sequences of a step, of all ranks together",
          between(int64_t{1}, int64_t{1} << 30));
    visit(
        "micro_batch", self.micro_batch,
        "sequences that a rank computes at once; the gradients of a step's are added up. auto: all",
        between(int64_t{1}, int64_t{1} << 30));
    visit("precision", self.precision,
          "of the computation; below fp32, weights and optimizer are also kept in fp32");
    visit("recompute", self.recompute,
          "what the backward pass computes again instead of keeping it: selective the cheap "
          "functions in front of matrices, full whole blocks");
    visit("device", self.device, "auto: cuda where there is one");
    visit("threads", self.threads, "of a rank's computation on the CPU; auto: cores / local ranks",
          between(1, 4096));
    visit("init_from", self.init_from,
          "scratch, resume (the newest checkpoint of this run, else scratch), or a Hugging Face "
          "directory",
          not_empty());
    visit("eval_only", self.eval_only, "evaluate once and end");
    visit("log_every", self.log_every, "steps between lines", between(int64_t{1}, kMost));
    visit("eval_every", self.eval_every, "steps between evaluations; 0: none",
          between(int64_t{0}, kMost));
    visit("eval_batches", self.eval_batches,
          "batches of an evaluation, each of train.batch sequences", between(int64_t{1}, kMost));
    visit("sample_prompt", self.sample_prompt,
          "what the text sampled at an evaluation begins with");
    visit("sample_tokens", self.sample_tokens, "tokens sampled at an evaluation",
          between(int64_t{0}, int64_t{1} << 20));
    visit("save_every", self.save_every,
          "steps between checkpoints; 0: only the last one, and one when a signal stops the run",
          between(int64_t{0}, kMost));
    visit("keep", self.keep, "newest checkpoints that are kept beside the best one",
          between(1, 100'000));
    visit("keep_every", self.keep_every,
          "checkpoints of steps that this divides are kept as well; 0: none",
          between(int64_t{0}, kMost));
    visit(
        "background_save", self.background_save,
        "go on while a checkpoint is written; takes host memory for a copy of what a rank writes");
    visit("compare_every", self.compare_every,
          "steps between comparisons of the bits that replicas hold, which are also made before "
          "each save; 0: none",
          between(int64_t{0}, kMost));
    visit("replay_every", self.replay_every,
          "steps between those that are computed twice, to see whether all bits come out again; 0: "
          "none",
          between(int64_t{0}, kMost));
    visit("trace_steps", self.trace_steps,
          "steps whose operations are written to trace-step-N.json, for Perfetto",
          between(int64_t{1}, kMost));
    visit("prometheus_port", self.prometheus_port,
          "port of 127.0.0.1 on which rank 0 answers GET /metrics; 0: none", between(0, 65'535));
  }
};

}  // namespace shoal::config
