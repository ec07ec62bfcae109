// grid_cases.h -- the layouts that are compared with one rank, and whose calls are counted.
//
// A case is the arguments of `shoal verify`. All shapes are uneven: the batch of 7 on 2, 3 or 4
// ranks, 5 or 3 blocks on stages, a prime vocabulary, documents of random lengths.
#pragma once

#include <string>
#include <vector>

#include "shoal/config/load.h"
#include "shoal/core/format.h"

namespace shoal::tests {

using Sets = std::vector<std::string>;

inline const Sets kRun = {
    "train.batch=7",      "train.precision=fp64",     "train.steps=5",    "optimizer.lr=0.01",
    "optimizer.warmup=2", "optimizer.clip=0.5",       "model.context=19", "model.vocab_size=251",
    "model.init_std=0.2", "model.norm_epsilon=1.0e-3"};

inline const Sets kGpt2 = {"model.layers=5", "model.width=24", "model.heads=3", "model.hidden=41"};

inline const Sets kLlama = {
    "model.layers=3",          "model.width=20",  "model.heads=4",          "model.kv_heads=2",
    "model.head_width=6",      "model.hidden=34", "model.positions=rotary", "model.norm=rms",
    "model.activation=swiglu", "model.bias=none", "model.tied=false"};

struct Case {
  bool llama = false;
  const char* optimizer = "adamw";
  Sets sets;
};

inline std::string name_of(const Case& c) {
  std::string name = format("{} {}", c.llama ? "llama" : "gpt2", c.optimizer);
  for (const std::string& set : c.sets) name += ' ' + set;
  return name;
}

inline config::RunConfig config_of(const Case& c, int ranks) {
  Sets sets = kRun;
  const auto add = [&](const Sets& more) { sets.insert(sets.end(), more.begin(), more.end()); };
  add(c.llama ? kLlama : kGpt2);
  add({format("optimizer.kind={}", c.optimizer), "optimizer.momentum=0.9"});
  add(c.sets);
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

// Cases for so many ranks.
struct Grid {
  int ranks = 1;
  std::vector<Case> cases;
};

inline Grid two_ranks() {
  return {
      2,
      {
          {.sets = {"parallel.sharding=no_shard"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.sharding=no_shard", "train.micro_batch=1"}},
          {.optimizer = "sgd", .sets = {"parallel.sharding=optimizer", "train.micro_batch=2"}},
          {.llama = true, .sets = {"parallel.sharding=optimizer"}},
          {.sets = {"parallel.sharding=shard_grad_op", "train.micro_batch=2"}},
          {.llama = true, .optimizer = "sgd", .sets = {"parallel.sharding=shard_grad_op"}},
          {.optimizer = "sgd", .sets = {"parallel.sharding=full_shard", "model.dropout=0.2"}},
          {.llama = true, .sets = {"parallel.sharding=full_shard", "train.micro_batch=1"}},
          {.sets = {"parallel.sharding=full_shard", "parallel.units=by_block"}},
          {.optimizer = "sgd",
           .sets = {"parallel.sharding=full_shard", "parallel.units=by_block_group",
                    "parallel.unit_blocks=2", "parallel.prefetch=0"}},
          {.llama = true,
           .sets = {"parallel.sharding=full_shard", "parallel.units=size_based",
                    "parallel.unit_parameters=6000", "parallel.prefetch=2", "train.micro_batch=3",
                    "parallel.grad_sync=batch"}},
          {.optimizer = "sgd",
           .sets = {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard",
                    "parallel.reshard_after_forward=false", "train.recompute=full"}},
          {.optimizer = "sgd", .sets = {"parallel.pp=2", "train.micro_batch=2"}},
          {.sets = {"parallel.pp=2", "parallel.schedule=gpipe", "train.micro_batch=3"}},
          {.llama = true, .optimizer = "sgd", .sets = {"parallel.pp=2"}},
          {.sets = {"parallel.pp=2", "parallel.schedule=interleaved", "parallel.chunks=2",
                    "train.micro_batch=1", "model.dropout=0.1"}},
          {.optimizer = "sgd", .sets = {"parallel.tp=2", "train.micro_batch=2"}},
          {.llama = true, .sets = {"parallel.tp=2", "model.kv_heads=1"}},
          {.sets = {"parallel.tp=2", "model.dropout=0.2", "train.recompute=selective"}},
          // Groups of several units, whose matrices and vectors alternate in one flat tensor.
          {.sets = {"model.layers=4", "parallel.sharding=no_shard",
                    "parallel.units=by_block_group"}},
          // One sequence at a time, each head with keys of its own: nothing is copied in attention.
          {.llama = true,
           .sets = {"parallel.sharding=optimizer", "model.kv_heads=4", "train.micro_batch=1",
                    "model.dropout=0.1"}},
          {.optimizer = "muon", .sets = {"parallel.sharding=full_shard"}},
          {.llama = true,
           .optimizer = "muon",
           .sets = {"parallel.sharding=optimizer", "train.micro_batch=2"}},
          {.optimizer = "muon", .sets = {"parallel.tp=2"}},
          {.llama = true,
           .optimizer = "muon",
           .sets = {"parallel.sharding=no_shard", "parallel.units=size_based",
                    "parallel.unit_parameters=9000"}},
      }};
}

inline Grid three_ranks() {
  return {
      3,
      {
          {.optimizer = "sgd", .sets = {"parallel.sharding=no_shard", "train.recompute=selective"}},
          {.llama = true, .sets = {"parallel.sharding=full_shard", "train.micro_batch=1"}},
          {.sets = {"parallel.sharding=optimizer", "model.dropout=0.1"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.sharding=shard_grad_op", "train.micro_batch=1",
                    "parallel.grad_sync=batch"}},
          {.sets = {"parallel.pp=3", "train.micro_batch=2"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.pp=3", "train.micro_batch=1", "parallel.schedule=gpipe",
                    "train.recompute=selective"}},
          {.optimizer = "sgd", .sets = {"parallel.tp=3", "train.recompute=full"}},
          {.llama = true, .sets = {"parallel.tp=3", "model.kv_heads=1", "train.micro_batch=3"}},
          {.sets = {"parallel.units=size_based", "parallel.unit_parameters=9000"}},
          {.sets = {"parallel.units=size_based", "model.bias=none"}},
          {.llama = true, .optimizer = "muon", .sets = {"train.micro_batch=1"}},
          {.llama = true, .optimizer = "muon", .sets = {"parallel.tp=3", "model.kv_heads=1"}},
          {.optimizer = "muon", .sets = {"parallel.pp=3", "train.micro_batch=2"}},
      }};
}

inline Grid four_ranks() {
  return {
      4,
      {
          {.optimizer = "sgd",
           .sets = {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard",
                    "train.micro_batch=1"}},
          {.llama = true, .sets = {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"}},
          {.sets = {"parallel.dp_replicate=2", "parallel.sharding=optimizer",
                    "train.micro_batch=1"}},
          {.llama = true, .optimizer = "sgd", .sets = {"parallel.sharding=full_shard"}},
          {.optimizer = "sgd",
           .sets = {"parallel.pp=4", "train.micro_batch=1", "train.recompute=full"}},
          {.sets = {"parallel.pp=2", "parallel.sharding=full_shard", "train.micro_batch=1"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.pp=2", "parallel.sharding=optimizer", "train.micro_batch=2",
                    "parallel.schedule=gpipe"}},
          {.sets = {"parallel.pp=2", "parallel.sharding=no_shard", "train.micro_batch=2"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.pp=2", "parallel.dp_replicate=2", "train.micro_batch=2",
                    "model.dropout=0.1"}},
          {.llama = true,
           .sets = {"parallel.sharding=optimizer", "train.micro_batch=1",
                    "model.vocab_size=50257"}},
          {.optimizer = "sgd",
           .sets = {"parallel.tp=4", "model.vocab_size=50257", "model.heads=6", "train.batch=3"}},
      }};
}

inline Grid four_ranks_of_two_kinds() {
  return {4,
          {
              {.optimizer = "sgd", .sets = {"parallel.tp=2", "parallel.sharding=full_shard"}},
              {.llama = true,
               .sets = {"parallel.tp=2", "parallel.sharding=no_shard", "train.micro_batch=1"}},
              {.sets = {"parallel.tp=2", "parallel.sharding=optimizer"}},
              {.llama = true,
               .optimizer = "sgd",
               .sets = {"parallel.tp=2", "parallel.sharding=shard_grad_op", "train.micro_batch=1",
                        "model.kv_heads=1"}},
              {.sets = {"parallel.tp=2", "parallel.pp=2", "train.micro_batch=2"}},
              {.llama = true,
               .optimizer = "sgd",
               .sets = {"parallel.tp=2", "parallel.pp=2", "train.micro_batch=1",
                        "parallel.schedule=gpipe", "train.recompute=selective"}},
              {.llama = true, .sets = {"parallel.tp=4", "model.dropout=0.1"}},
              {.optimizer = "muon", .sets = {"parallel.tp=2", "parallel.sharding=full_shard"}},
              {.llama = true,
               .optimizer = "muon",
               .sets = {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"}},
              {.optimizer = "muon",
               .sets = {"parallel.pp=2", "parallel.sharding=optimizer", "train.micro_batch=2",
                        "parallel.schedule=interleaved", "parallel.chunks=2"}},
              {.llama = true,
               .optimizer = "muon",
               .sets = {"parallel.tp=2", "parallel.pp=2", "train.micro_batch=2"}},
              {.optimizer = "sgd",
               .sets = {"parallel.tp=2", "parallel.pp=2", "parallel.schedule=interleaved",
                        "parallel.chunks=2", "train.micro_batch=1", "model.dropout=0.1"}},
          }};
}

inline Grid six_ranks() {
  return {
      6,
      {
          {.sets = {"parallel.pp=3", "parallel.sharding=full_shard", "train.micro_batch=1"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.tp=2", "parallel.sharding=full_shard", "train.micro_batch=1"}},
          {.optimizer = "sgd", .sets = {"parallel.tp=3", "parallel.pp=2", "train.micro_batch=2"}},
          {.llama = true, .sets = {"parallel.dp_replicate=3", "parallel.sharding=hybrid_shard"}},
          {.llama = true,
           .optimizer = "muon",
           .sets = {"parallel.tp=2", "parallel.units=size_based", "parallel.unit_parameters=7000"}},
          {.sets = {"parallel.dp_replicate=2", "parallel.sharding=shard_grad_op",
                    "train.micro_batch=1"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.pp=2", "parallel.sharding=no_shard", "train.micro_batch=1",
                    "model.dropout=0.1"}},
      }};
}

inline Grid eight_ranks() {
  return {
      8,
      {
          {.sets = {"parallel.tp=2", "parallel.pp=2", "parallel.sharding=full_shard",
                    "train.micro_batch=1"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.tp=2", "parallel.pp=2", "parallel.sharding=no_shard",
                    "train.micro_batch=2"}},
          {.optimizer = "sgd",
           .sets = {"parallel.tp=2", "parallel.pp=2", "parallel.sharding=optimizer",
                    "parallel.schedule=interleaved", "parallel.chunks=2", "train.micro_batch=1"}},
          {.llama = true,
           .sets = {"parallel.dp_replicate=2", "parallel.tp=2", "parallel.sharding=hybrid_shard",
                    "train.micro_batch=1"}},
          {.optimizer = "sgd",
           .sets = {"parallel.dp_replicate=2", "parallel.pp=2", "parallel.sharding=hybrid_shard",
                    "parallel.units=by_block", "train.micro_batch=1", "train.recompute=full"}},
          {.llama = true,
           .sets = {"parallel.tp=4", "parallel.pp=2", "train.micro_batch=2", "model.kv_heads=2"}},
          {.sets = {"parallel.sharding=full_shard", "train.batch=11"}},
          {.optimizer = "muon",
           .sets = {"parallel.tp=2", "parallel.pp=2", "parallel.sharding=full_shard",
                    "parallel.units=by_block_group", "train.micro_batch=1"}},
          {.llama = true,
           .optimizer = "sgd",
           .sets = {"parallel.sharding=no_shard", "train.batch=13"}},
          {.sets = {"parallel.pp=4", "parallel.sharding=shard_grad_op", "train.micro_batch=1",
                    "parallel.schedule=gpipe", "parallel.grad_sync=batch"}},
      }};
}

inline std::vector<Grid> all_grids() {
  return {two_ranks(), three_ranks(), four_ranks(), four_ranks_of_two_kinds(),
          six_ranks(), eight_ranks()};
}

// Returns a layout of each kind, for precisions with visible round-off.
inline Grid one_of_each_kind() {
  return {4,
          {
              {.optimizer = "sgd", .sets = {"parallel.sharding=no_shard", "train.micro_batch=1"}},
              {.llama = true, .sets = {"parallel.sharding=full_shard"}},
              {.sets = {"parallel.dp_replicate=2", "parallel.sharding=hybrid_shard"}},
              {.llama = true,
               .optimizer = "sgd",
               .sets = {"parallel.tp=2", "parallel.sharding=optimizer"}},
              {.optimizer = "sgd",
               .sets = {"parallel.pp=2", "parallel.sharding=shard_grad_op", "train.micro_batch=2"}},
              {.llama = true, .sets = {"parallel.tp=2", "parallel.pp=2", "train.micro_batch=2"}},
          }};
}

}  // namespace shoal::tests
