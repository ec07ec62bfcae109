// The planned memory of a layout is what its tensors take, on each rank of a real job.

#include "shoal/plan/memory.h"

#include <cmath>
#include <new>

#include <gmock/gmock.h>

#include "shoal/checkpoint/resume.h"
#include "shoal/checkpoint/training_state.h"

#include "tests/parallel/memory_case.h"
#include "tests/support/growth.h"
#include "tests/support/shared_dir.h"

namespace shoal::tests {
namespace {

using plan::Memory;
using plan::memory_of_step;
using plan::mesh_of;

constexpr int kRanks = 4;

const Sets kSmall = {"model.layers=8",     "model.width=128",   "model.heads=4",
                     "model.context=32",   "train.batch=7",     "train.steps=3",
                     "optimizer.warmup=1", "optimizer.lr=0.01", "model.vocab_size=1009"};

TEST(Memory, OfFourRanksIsWhatWasCounted) {
  compare_memory(
      kRanks, kSmall,
      {
          {"parallel.sharding=no_shard"},
          {"parallel.sharding=optimizer", "train.micro_batch=1"},
          {"parallel.sharding=shard_grad_op", "train.micro_batch=1"},
          {"parallel.sharding=full_shard", "parallel.prefetch=0"},
          {"parallel.sharding=full_shard", "model.tied=false", "parallel.prefetch=2"},
          {"parallel.sharding=full_shard", "parallel.grad_sync=batch", "train.micro_batch=1"},
          {"parallel.sharding=hybrid_shard", "parallel.dp_replicate=2",
           "parallel.units=by_block_group"},
          {"parallel.pp=2", "parallel.sharding=full_shard", "train.micro_batch=1"},
          {"parallel.pp=2", "parallel.sharding=no_shard", "train.micro_batch=1",
           "parallel.schedule=gpipe"},
          {"parallel.sharding=full_shard", "model.vocab_size=20011", "train.batch=37"},
          {"parallel.tp=2", "parallel.sharding=full_shard"},
          {"parallel.tp=4", "train.recompute=selective"},
          {"parallel.tp=4", "model.hidden=64", "train.batch=29"},
          {"parallel.tp=2", "parallel.pp=2", "model.hidden=64", "train.batch=29"},
      },
      /*large=*/false);
}

// One rank, with activations many times as large as weights.
TEST(Memory, OfActivationsIsNearWhatIsMeasured) {
  const Sets small = {"model.layers=4",    "model.width=96",    "model.heads=6",
                      "model.context=128", "train.batch=8",     "model.vocab_size=509",
                      "train.steps=2",     "optimizer.warmup=1"};
  const Sets llama = {"model.positions=rotary", "model.norm=rms",   "model.activation=swiglu",
                      "model.bias=none",        "model.tied=false", "model.kv_heads=2",
                      "model.hidden=256"};
  Sets olmo2 = llama;
  olmo2.insert(olmo2.end(), {"model.qk_norm=width", "model.norm_place=after"});
  const std::vector<std::pair<const char*, Sets>> families = {
      {"gpt2", {}}, {"dropout", {"model.dropout=0.1"}}, {"llama", llama}, {"olmo2", olmo2}};
  const auto world = comm::World::record(0, 1, nullptr);
  for (const auto& [name, family] : families) {
    for (const char* recompute : {"none", "selective", "full"}) {
      for (const char* precision : {"fp32", "bf16"}) {
        // Products of bf16 are slow on processors without instructions for them.
        if (precision == std::string("bf16") && name != std::string("gpt2") && !is_nightly())
          continue;
        Sets more = family;
        more.push_back(format("train.recompute={}", recompute));
        more.push_back(format("train.precision={}", precision));
        const config::RunConfig config = memory_config(small, more, 1);
        const Memory planned = memory_of_step(config, mesh_of(config.parallel, 1), 0);
        const Measured found = measured(config, *world);
        const double off = ratio(found.peak - found.state, planned.activations);
        std::printf("%-7s %-9s %s: %6.1f MiB beyond the state, counted %6.1f: %.3f\n", name,
                    recompute, precision, mib(found.peak - found.state), mib(planned.activations),
                    off);
        EXPECT_NEAR(off, 1, 0.1) << name << ' ' << recompute << ' ' << precision;
      }
    }
  }
}

// A run that fits can be resumed: a rank loads into the tensors it has.
TEST(Memory, OfAResumeIsThatOfAFreshStart) {
  const SharedDir saves("SHOAL_TEST_SAVES");
  run_ranks(kRanks, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    CountingAllocator& memory = CountingAllocator::installed();
    const auto world = join_world(me, environment);
    for (const char* precision : {"fp32", "bf16"}) {
      for (const char* layout : {"parallel.dp_shard=4", "parallel.tp=2", "parallel.pp=2"}) {
        if (precision == std::string("bf16") && layout != std::string("parallel.tp=2") &&
            !is_nightly())
          continue;
        const config::RunConfig config = memory_config(
            kSmall,
            {"parallel.sharding=full_shard", layout, format("train.precision={}", precision)},
            kRanks);
        const auto directory = saves.path() / format("{}-{}", layout, precision);
        const parallel::Ranks ranks(*world, config);
        const auto run = [&](bool resumes, bool saves_it = false) {
          verify::Side side(config, ranks);
          const checkpoint::TrainingState state{*world, side.model()};
          if (resumes)
            checkpoint::resume_newest(directory, state, [](const checkpoint::Described&) {});
          for (int64_t step = 0; step < 2; ++step) {
            side.gradients_of(step);
            side.update();
          }
          if (saves_it) checkpoint::save(directory, 2, state, {});
        };
        run(false, true);
        const int64_t fresh = memory.peak_of([&] { run(false); });
        const int64_t resumed = memory.peak_of([&] { run(true); });
        if (me.rank == 0)
          std::printf("%s %s: peak of a fresh start %.2f MiB, of a resume %.2f: %.4f\n", layout,
                      precision, mib(fresh), mib(resumed), ratio(resumed, fresh));
        EXPECT_LE(ratio(resumed, fresh), 1.02) << layout << ' ' << precision;
      }
    }
    world->leave();
  });
}

// Returns the losses of some steps.
std::vector<double> losses_of(const config::RunConfig& config, comm::World& world) {
  const parallel::Ranks ranks(world, config);
  verify::Side side(config, ranks);
  std::vector<double> losses;
  for (int64_t step = 0; step < config.train.steps; ++step) {
    losses.push_back(side.gradients_of(step).item<double>());
    side.update();
  }
  return losses;
}

// Half of what one rank's state takes.
TEST(Memory, OfFourRanksHoldsAModelThatOneRankCannot) {
  const config::RunConfig whole =
      memory_config(kSmall, {"model.width=256", "parallel.sharding=no_shard"}, kRanks);
  const config::RunConfig cut =
      memory_config(kSmall, {"model.width=256", "parallel.sharding=full_shard"}, kRanks);
  const plan::Mesh mesh = mesh_of(cut.parallel, kRanks);
  const int64_t budget = memory_of_step(whole, mesh, 0).state() / 2;
  std::printf("budget %.1f MiB; no_shard needs %.1f for its state, full_shard %.1f at its peak\n",
              mib(budget), mib(2 * budget), mib(memory_of_step(cut, mesh, 0).peak()));
  EXPECT_LT(memory_of_step(cut, mesh, 0).peak(), budget);
  run_ranks(kRanks, [&](const cluster::Membership& me, const cluster::Environment& environment) {
    CountingAllocator& memory = CountingAllocator::installed();
    const auto world = join_world(me, environment);
    const std::vector<double> expected = losses_of(whole, *world);
    memory.limit(budget);
    EXPECT_THROW(losses_of(whole, *world), std::bad_alloc);
    const std::vector<double> found = losses_of(cut, *world);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);
    EXPECT_GT(std::abs(found.front() - found.back()), 1e-2) << "nothing was learned";
    world->leave();
  });
}

}  // namespace
}  // namespace shoal::tests
