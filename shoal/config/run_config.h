// run_config.h -- the configuration of a run, as typed structs with their defaults.
//
//   const RunConfig config = load_or_throw({.file = "a.yaml", .sets = {"parallel.tp=2"}});
//   config.parallel.tp
//
// To add a key: a member with its default in the section's header; its name, help text and rule in
// list_fields() of the section's .cpp file; a rule in check.cpp if it must agree with other keys; then
// `shoal config docs` and `shoal config schema` into docs/. Plain values: copy freely.
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
#include "shoal/config/train_config.h"

namespace shoal::config {

class FieldList;

// The version of the config format. It is raised when a key changes its meaning or goes; a key that
// is added needs no new version.
constexpr int kSchemaVersion = 1;

// Section `run`: the name of a run, its directory, and the seed of its randomness.
struct IdentityConfig {
  std::string name = "unnamed";
  std::string directory = "runs";
  uint64_t seed = 1234;
  bool take_over = false;
};

void list_fields(IdentityConfig& config, FieldList& list);

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
};

void list_fields(RunConfig& config, FieldList& list);

// Returns whether every key has the same value; print.h says which differ.
bool operator==(const RunConfig& a, const RunConfig& b);

}  // namespace shoal::config
