// run_config.h -- the configuration of a run, as typed structs with their defaults.
//
//   const RunConfig config = load_or_throw({.file = "a.yaml", .sets = {"parallel.tp=2"}});
//   config.parallel.tp
//
// To add a knob: a member with its default, its line in fields(), a rule in check.cpp if it must
// agree with others, then `shoal config docs` and `shoal config schema` into docs/. A section is a
// struct with fields() of its own. Plain values: copy freely.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/config/comm_config.h"
#include "shoal/config/data_config.h"
#include "shoal/config/log_config.h"
#include "shoal/config/model_config.h"
#include "shoal/config/optimizer_config.h"
#include "shoal/config/parallel_config.h"
#include "shoal/config/plan_config.h"
#include "shoal/config/rule.h"
#include "shoal/config/train_config.h"

namespace shoal::config {

// The version of the config format. It is raised when a key changes its meaning or goes; a key that
// is added needs no new version.
constexpr int kSchemaVersion = 1;

// Section `run`: the name of a run, its directory, and the seed of its randomness.
struct IdentityConfig {
  std::string name = "unnamed";
  std::string directory = "runs";
  uint64_t seed = 1234;
  bool take_over = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "what the run and its directory are called", file_name());
    visit("directory", self.directory, "directory that holds the run directories", not_empty());
    visit("seed", self.seed,
          "where all randomness starts: initial weights, order of the data, dropout");
    visit("take_over", self.take_over,
          "take the run's directory from the job that has it, though that may still be there");
  }
};

struct RunConfig {
  int version = kSchemaVersion;
  IdentityConfig run;
  ModelConfig model;
  DataConfig data;
  OptimizerConfig optimizer;
  TrainConfig train;
  ParallelConfig parallel;
  CommConfig comm;
  PlanConfig plan;
  LogConfig log;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("version", self.version,
          "version of this list of keys; a file without it is read as the current one", at_least(1),
          at_most(kSchemaVersion, "the file was written for a newer shoal: install that one"));
    visit("run", self.run, "name, place and seed of the run");
    visit("model", self.model, "the shape of the decoder");
    visit("data", self.data, "which tokens, in which order");
    visit("optimizer", self.optimizer, "how gradients become new weights");
    visit("train", self.train, "how long, in what precision, and what is left behind");
    visit("parallel", self.parallel,
          "how the ranks are arranged; the degrees multiply to all ranks");
    visit("comm", self.comm, "how ranks talk to each other");
    visit("plan", self.plan, "what the run expects of itself");
    visit("log", self.log, "lines on standard error");
  }
};

// Returns whether every key has the same value; print.h says which differ.
bool operator==(const RunConfig& a, const RunConfig& b);

}  // namespace shoal::config
