#include "shoal/train/step_replay.h"

#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/format.h"
#include "shoal/feed/micro_batches.h"
#include "shoal/model/precision.h"
#include "shoal/parallel/listener_pair.h"
#include "shoal/plan/layout.h"
#include "shoal/verify/made_up_batch.h"

#include "tests/support/flip_bit.h"
#include "tests/support/run_ranks.h"

namespace shoal::train {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using plan::OpKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Sets = std::vector<std::string>;

config::RunConfig config_of(const Sets& layout, int ranks) {
  Sets sets = {"train.batch=7",     "optimizer.lr=0.01",    "optimizer.warmup=0",
               "model.context=19",  "model.vocab_size=251", "model.layers=4",
               "model.width=24",    "model.heads=3",        "model.hidden=41",
               "model.dropout=0.1", "train.micro_batch=2"};
  sets.insert(sets.end(), layout.begin(), layout.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

// A rank of a layout with the samples of a step.
struct Trained {
  Trained(comm::World& world, const Sets& layout)
      : config(config_of(layout, world.size())),
        ranks(world, config),
        model(config,
              ranks,
              model::materials_of(config.train.precision, ranks.device(), config.run.seed)),
        passes(feed::micro_batches_of(
            verify::made_up_batch({.seed = 5, .length = 19, .classes = 251},
                                  static_cast<uint64_t>(ranks.position(parallel::kDataAxes)) * 3,
                                  3),
            {.passes = 2, .separate_documents = true})) {}

  config::RunConfig config;
  parallel::Ranks ranks;
  parallel::ParallelModel model;
  std::vector<model::Pass> passes;
};

template <class Body>
void on_ranks(int ranks, const Body& body) {
  tests::run_ranks(ranks,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(me, environment,
                                                          {.backend = config::Backend::kGloo,
                                                           .deadline = 60s,
                                                           .rendezvous = 60s,
                                                           .reuse_groups = true});
                     body(*world);
                     world->leave();
                   });
}

// An error of one operation: a bit of the weights is another while a rank computes with it.
class PassingError final : public parallel::OperationListener {
 public:
  PassingError(const parallel::ParallelModel& model, OpKind kind, bool here)
      : model_(model), kind_(kind), here_(here) {}

  void before(const plan::Operation& operation) override { flip(operation); }
  void after(const plan::Operation& operation) override { flip(operation); }

 private:
  void flip(const plan::Operation& operation) {
    const bool now = here_ && operation.kind == kind_ && operation.micro_batch == 1 &&
                     operation.chunk == 0 && operation.index == 2;
    if (!now) return;
    const auto group = model_.plan().stages[0].group_of[2];
    // The highest bit of the first element's exponent: a small error may be rounded away in a loss.
    tests::flip_bit(model_.groups()[static_cast<size_t>(group)]->whole(), 30);
  }

  const parallel::ParallelModel& model_;
  OpKind kind_;
  bool here_;
};

// What a layout says of a step in which an operation of one rank errs.
std::vector<std::string> said_of(
    comm::World& world, const Sets& layout, OpKind kind, int rank, bool listens) {
  Trained trained(world, layout);
  PassingError error(trained.model, kind, world.rank() == rank);
  StepWitness witness(trained.model);
  parallel::ListenerPair listeners(listens ? &witness : nullptr, &error);
  const parallel::StepOptions options{.lr = 0.01, .listener = &listeners};
  trained.model.forward_backward(trained.passes, options);
  return replayed_differently(trained.model, world, trained.passes, {.lr = 0.01}, witness);
}

TEST(StepReplay, NamesTheRankThatErred) {
  on_ranks(3, [](comm::World& world) {
    const std::string rank = format("rank 1 on {} computes another ", world.hosts()[1]);
    for (const char* const sharding : {"no_shard", "full_shard", "optimizer"}) {
      SCOPED_TRACE(sharding);
      const Sets layout = {format("parallel.sharding={}", sharding)};
      EXPECT_THAT(said_of(world, layout, OpKind::kForward, 1, /*listens=*/true),
                  ElementsAre(StartsWith(rank + "loss of micro-batch 1 (and ")));
      EXPECT_THAT(said_of(world, layout, OpKind::kForward, 1, /*listens=*/false),
                  ElementsAre(rank + "loss of micro-batch 1"));
      EXPECT_THAT(said_of(world, layout, OpKind::kBackward, 1, /*listens=*/true),
                  ElementsAre(StartsWith(rank + "gradient of ")));
      // Sums alone do not tell whose error they contain.
      EXPECT_THAT(said_of(world, layout, OpKind::kBackward, 1, /*listens=*/false),
                  ElementsAre(StartsWith("the sums of gradients over ranks differ")));
    }
  });
}

// A step can be repeated on every layout, and leaves no trace: the weights after it are the same.
TEST(StepReplay, ChangesNothing) {
  on_ranks(4, [](comm::World& world) {
    const std::vector<Sets> layouts = {
        {"parallel.sharding=no_shard"},
        {"parallel.sharding=optimizer", "train.precision=bf16"},
        {"parallel.sharding=full_shard", "train.recompute=full"},
        {"parallel.sharding=hybrid_shard", "parallel.dp_replicate=2"},
        {"parallel.tp=2", "train.recompute=selective"},
        {"parallel.pp=2", "parallel.schedule=interleaved", "parallel.chunks=2"},
        {"parallel.tp=2", "parallel.pp=2", "optimizer.kind=muon"}};
    for (const Sets& layout : layouts) {
      SCOPED_TRACE(layout.front());
      Trained once(world, layout);
      Trained twice(world, layout);
      const parallel::StepOptions options{.lr = 0.01};
      for (int step = 0; step < 2; ++step) {
        once.model.forward_backward(once.passes, options);
        once.model.update();
        StepWitness witness(twice.model);
        twice.model.forward_backward(twice.passes, {.lr = 0.01, .listener = &witness});
        EXPECT_THAT(replayed_differently(twice.model, world, twice.passes, options, witness),
                    IsEmpty());
        twice.model.update();
      }
      once.model.settle();
      twice.model.settle();
      const std::vector<at::Tensor> plain = once.model.masters();
      const std::vector<at::Tensor> repeated = twice.model.masters();
      for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].equal(repeated[i])) << i;
    }
  });
}

// A skipped update has changed nothing that a replay would compute or compare otherwise.
TEST(StepReplay, OfASkippedStepIsTheSame) {
  on_ranks(2, [](comm::World& world) {
    for (const char* const precision : {"fp32", "fp64", "bf16"}) {
      SCOPED_TRACE(precision);
      Trained trained(world,
                      {"parallel.sharding=full_shard", format("train.precision={}", precision)});
      const at::Tensor master = trained.model.masters()[1];
      trained.model.set_masters([&] { master[3] = std::numeric_limits<double>::quiet_NaN(); });
      trained.model.forward_backward(trained.passes, {.lr = 0.01});
      EXPECT_EQ(trained.model.update().skipped.item<float>(), 1);
      EXPECT_THAT(replayed_differently(trained.model, world, trained.passes, {.lr = 0.01},
                                       StepWitness(trained.model)),
                  IsEmpty());
    }
  });
}

}  // namespace
}  // namespace shoal::train
