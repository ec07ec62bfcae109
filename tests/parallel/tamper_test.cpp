// The comparison detects faults: an injected error is far above the tolerance, in the affected
// tensors and nowhere else.

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/format.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/verify/agreement.h"
#include "shoal/verify/tolerance.h"

#include "tests/support/run_ranks.h"

namespace shoal::verify {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Sets = std::vector<std::string>;

constexpr double kFar = 1e-8;  // a thousand times the tolerance

config::RunConfig config_with(const Sets& more) {
  // Without clipping: a wrong gradient in one tensor must not reach the others through the norm.
  Sets sets = {"train.batch=7",
               "train.precision=fp64",
               "train.steps=5",
               "optimizer.lr=0.002",
               "optimizer.warmup=0",
               "optimizer.clip=0",
               "model.context=19",
               "model.vocab_size=251",
               "model.init_std=0.2",
               "model.layers=3",
               "model.width=24",
               "model.heads=3",
               "model.hidden=41",
               "optimizer.momentum=0.9",
               "parallel.units=by_block_and_size",
               "optimizer.lr_schedule=constant"};
  sets.insert(sets.end(), more.begin(), more.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{2, 2}});
}

void on_two_ranks(const std::function<void(comm::World&)>& body) {
  tests::run_ranks(2,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(
                         me, environment,
                         {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
                     body(*world);
                     world->leave();
                   },
                   {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

template <class Visit>
void for_each_group(const parallel::ParallelModel& model, Visit&& visit) {
  for (const parallel::UnitGroup* group : model.groups()) visit(*group);
}

const parallel::UnitGroup& group_named(const parallel::ParallelModel& model,
                                       const std::string& name) {
  const parallel::UnitGroup* found = nullptr;
  for_each_group(model, [&](const parallel::UnitGroup& group) {
    if (group.name() == name) found = &group;
  });
  if (found == nullptr) throw std::runtime_error("no group " + name);
  return *found;
}

std::set<std::string> tensors_beyond(const Agreement& found,
                                     double TensorDifference::*field,
                                     double limit) {
  std::set<std::string> names;
  for (const auto& [name, difference] : found.tensors) {
    if (!(difference.*field <= limit)) names.insert(name);
  }
  return names;
}

std::set<std::string> tensors_of(const Agreement& found, const std::string& unit) {
  std::set<std::string> names;
  for (const auto& [name, difference] : found.tensors) {
    if (name.starts_with(unit + ".")) names.insert(name);
  }
  return names;
}

void print(comm::World& world, const std::string& what, const Agreement& found) {
  const TensorDifference worst = found.worst();
  if (world.rank() == 0)
    std::printf("%s: loss %.1e gradient %.1e weight %.1e\n", what.c_str(), found.loss,
                worst.gradient, worst.weight);
  std::fflush(stdout);
}

TEST(Tamper, UntouchedAgrees) {
  on_two_ranks([](comm::World& world) {
    const config::RunConfig config = config_with({"parallel.sharding=full_shard"});
    int calls = 0;
    const Agreement found = compare_with_one_rank(
        config, world, {.steps = 3, .tamper = [&](parallel::ParallelModel&, int64_t) { ++calls; }});
    EXPECT_EQ(calls, 3);
    print(world, "untouched", found);
    EXPECT_THAT(outside(found, tolerance_of(config, found)), IsEmpty());
  });
}

// AdamW is invariant to a constant scale of gradients; the gradients themselves show it.
TEST(Tamper, AWrongScaleOnOneRank) {
  on_two_ranks([](comm::World& world) {
    for (const char* sharding : {"no_shard", "full_shard"}) {
      for (const char* kind : {"adamw", "sgd"}) {
        SCOPED_TRACE(format("{} {}", sharding, kind));
        const config::RunConfig config = config_with(
            {format("parallel.sharding={}", sharding), format("optimizer.kind={}", kind)});
        const auto halve = [&](parallel::ParallelModel& model, int64_t step) {
          if (world.rank() != 1 || step != 1) return;
          for_each_group(
              model, [](const parallel::UnitGroup& group) { group.shard_gradient().mul_(0.5); });
        };
        const Agreement found = compare_with_one_rank(config, world, {.steps = 3, .tamper = halve});
        print(world, format("halved, {} {}", sharding, kind), found);
        const TensorDifference worst = found.worst();
        EXPECT_GT(worst.gradient, 1e-3);
        EXPECT_GT(worst.weight, kFar);
        EXPECT_GT(found.loss, kFar) << "of the step behind it";
        // With no_shard rank 1 has all tensors, else those of the second half of each group.
        const std::set<std::string> wrong =
            tensors_beyond(found, &TensorDifference::gradient, kFar);
        EXPECT_GE(wrong.size(), found.tensors.size() / 2);
        EXPECT_EQ(wrong.count("blocks.1.mlp.down.weight"), 1U);
        EXPECT_EQ(worst.initial, 0);
      }
    }
  });
}

TEST(Tamper, AGroupWithoutItsGradient) {
  on_two_ranks([](comm::World& world) {
    for (const char* kind : {"adamw", "sgd"}) {
      SCOPED_TRACE(kind);
      const config::RunConfig config =
          config_with({"parallel.sharding=full_shard", format("optimizer.kind={}", kind)});
      const auto drop = [](parallel::ParallelModel& model, int64_t) {
        group_named(model, "blocks.1").shard_gradient().zero_();
      };
      const Agreement found = compare_with_one_rank(config, world, {.steps = 1, .tamper = drop});
      print(world, format("dropped, {}", kind), found);
      const std::set<std::string> concerned = tensors_of(found, "blocks.1");
      EXPECT_EQ(concerned.size(), 12U);
      EXPECT_EQ(tensors_beyond(found, &TensorDifference::gradient, kFar), concerned);
      EXPECT_EQ(tensors_beyond(found, &TensorDifference::gradient, 1e-11), concerned);
      EXPECT_EQ(tensors_beyond(found, &TensorDifference::weight, kFar), concerned);
      EXPECT_EQ(tensors_beyond(found, &TensorDifference::weight, 1e-11), concerned);
      const std::vector<std::string> told = outside(found, tolerance_of(config, found));
      ASSERT_EQ(told.size(), 2 * concerned.size() + 1);
      EXPECT_THAT(told[0], HasSubstr("the norm of all gradients differs"));
      EXPECT_THAT(told[1], HasSubstr("the gradient of blocks.1.attention.out.bias differs"));
    }
  });
}

// In bf16 a fault stands out from round-off as well, in the affected tensors and nowhere else.
TEST(Tamper, IsNoticedInHalfPrecision) {
  on_two_ranks([](comm::World& world) {
    const config::RunConfig config = config_with(
        {"parallel.sharding=full_shard", "train.precision=bf16", "optimizer.epsilon=1.0e-3"});
    const auto told = [&](const auto& tamper) {
      const Agreement found = compare_with_one_rank(config, world, {.steps = 1, .tamper = tamper});
      return outside(found, tolerance_of(config, found));
    };
    EXPECT_THAT(told(nullptr), IsEmpty());
    // The gradients of one group are lost, halved, or those of a rank that divides by its own
    // targets (4 of 7 sequences).
    for (const double factor : {0.0, 0.5, 7.0 / 4}) {
      SCOPED_TRACE(factor);
      const std::vector<std::string> failures = told([&](parallel::ParallelModel& model, int64_t) {
        group_named(model, "blocks.1").shard_gradient().mul_(factor);
      });
      if (world.rank() == 0)
        std::printf("gradients of blocks.1 times %.2f: %zu figures, first: %s\n", factor,
                    failures.size(), failures.empty() ? "none" : failures.front().c_str());
      EXPECT_GE(failures.size(), 12U) << "each of its tensors is concerned";
      for (const std::string& failure : failures)
        EXPECT_TRUE(failure.find(" blocks.1.") != std::string::npos ||
                    failure.starts_with("the norm of all gradients"))
            << failure;
    }
  });
}

TEST(Tamper, ShardsSwapped) {
  on_two_ranks([](comm::World& world) {
    comm::Group both = world.group("both", {0, 1});
    const config::RunConfig config = config_with({"parallel.sharding=full_shard"});
    const auto swap = [&](parallel::ParallelModel& model, int64_t step) {
      if (step != 0) return;
      const at::Tensor shard = group_named(model, "blocks.0").shard();
      const at::Tensor theirs = at::empty_like(shard);
      using Way = comm::Group::Transfer::Way;
      both.exchange({{Way::kSend, shard.clone(), 1 - both.rank(), 0},
                     {Way::kRecv, theirs, 1 - both.rank(), 0}},
                    "swapped shards")
          .wait();
      shard.copy_(theirs);
    };
    const Agreement once = compare_with_one_rank(config, world, {.steps = 1, .tamper = swap});
    print(world, "swapped, one step", once);
    EXPECT_THAT(tensors_beyond(once, &TensorDifference::gradient, 1e-11), IsEmpty());
    EXPECT_EQ(tensors_beyond(once, &TensorDifference::weight, 1e-11), tensors_of(once, "blocks.0"));
    EXPECT_EQ(tensors_beyond(once, &TensorDifference::weight, 0.1), tensors_of(once, "blocks.0"));
    const Agreement twice = compare_with_one_rank(config, world, {.steps = 2, .tamper = swap});
    print(world, "swapped, two steps", twice);
    EXPECT_GT(twice.loss, kFar);
    EXPECT_EQ(tensors_beyond(twice, &TensorDifference::gradient, kFar).size(),
              twice.tensors.size());
  });
}

}  // namespace
}  // namespace shoal::verify
