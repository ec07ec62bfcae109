// The planned volume of a layout is what it communicates: every layout of the grid runs a step on
// the record backend, and is compared call by call, in program order.

#include "shoal/plan/volume.h"

#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/core/quantities.h"
#include "shoal/dry_run/step_trace.h"
#include "shoal/plan/layout.h"
#include "shoal/verify/side.h"

#include "tests/parallel/grid_cases.h"

namespace shoal::plan {
namespace {

using comm::Call;
using ::testing::IsEmpty;

// The traffic of a call, by its purpose text; the first match counts.
struct Purpose {
  const char* begin;
  const char* end;
  Traffic traffic;
};

constexpr Purpose kPurposes[] = {
    {"weights of ", "", Traffic::kWeights},
    {"gradients of the tied matrix", "", Traffic::kTiedGradient},
    {"gradients of keys and values", "", Traffic::kKeysAndValues},
    {"gradients of ", " over copies", Traffic::kGradientsOverReplicas},
    {"gradients of ", "", Traffic::kGradients},
    {"gradients", "", Traffic::kActivationGradients},
    {"activations", "", Traffic::kActivations},
    {"partial gradients of ", "", Traffic::kPartialGradients},
    {"keys and values", "", Traffic::kKeysAndValues},
    {"blocks.", "_norm.weight", Traffic::kQkNorm},
    {"embedding of tokens", "", Traffic::kEmbedding},
    {"gradient of the embedding", "", Traffic::kEmbedding},
    {"input of the head", "", Traffic::kHead},
    {"gradient of the head's input", "", Traffic::kHead},
    {"largest logits", "", Traffic::kHead},
    {"sums of exponentials", "", Traffic::kHead},
    {"input of ", "", Traffic::kTensorActivations},
    {"output of ", "", Traffic::kTensorActivations},
    {"gradient of the input of ", "", Traffic::kTensorActivations},
    {"gradient of the output of ", "", Traffic::kTensorActivations},
    {"targets of the step", "", Traffic::kTargets},
    {"loss of the step", "", Traffic::kLoss},
    {"norm of all gradients", "", Traffic::kNorm},
    {"parts of matrices", "", Traffic::kMatrices},
};

std::optional<Traffic> traffic_of(const Call& call) {
  for (const Purpose& purpose : kPurposes) {
    if (call.what.starts_with(purpose.begin) && call.what.ends_with(purpose.end))
      return purpose.traffic;
  }
  return std::nullopt;
}

// One entry per kind of call, to compare.
using Lines = std::map<std::string, std::pair<int64_t, int64_t>>;  // calls, bytes

Lines counted(const std::vector<Volume>& volumes) {
  Lines lines;
  for (const Volume& volume : volumes)
    lines[format("{}: {} over {} of {}", traffic_name(volume.traffic),
                 exchange_name(volume.exchange), volume.ranks, volume.axes.name())] = {
        volume.calls, volume.bytes};
  return lines;
}

Lines recorded(const dry_run::StepTrace& trace) {
  Lines lines;
  for (const dry_run::StepTrace::Done& done : trace.operations()) {
    for (const Call& call : done.calls) {
      if (call.group_size == 1) continue;
      const std::optional<Traffic> traffic = traffic_of(call);
      auto& [number, bytes] =
          lines[format("{}: {} over {} of {}", traffic ? traffic_name(*traffic) : call.what,
                       comm::op_name(call.op), call.group_size, call.group)];
      number += 1;
      bytes += call.bytes;
    }
  }
  return lines;
}

std::vector<std::string> differences(const Lines& expected, const Lines& found) {
  std::vector<std::string> different;
  std::set<std::string> names;
  for (const auto& [name, figures] : expected) names.insert(name);
  for (const auto& [name, figures] : found) names.insert(name);
  const auto at = [](const Lines& lines, const std::string& name) {
    const auto it = lines.find(name);
    return it == lines.end() ? std::pair<int64_t, int64_t>() : it->second;
  };
  for (const std::string& name : names) {
    const auto [calls, bytes] = at(expected, name);
    const auto [real_calls, real_bytes] = at(found, name);
    if (calls != real_calls || bytes != real_bytes)
      different.push_back(format("{}: counted {} calls with {} bytes, made {} with {}", name, calls,
                                 bytes, real_calls, real_bytes));
  }
  return different;
}

struct Seen {
  std::set<Traffic> kinds;
  int64_t steps = 0;
  int64_t calls = 0;
};

// Compares a second step: the first also makes one-time calls.
void compare_step(const config::RunConfig& config, int ranks, int rank, Seen& seen) {
  SCOPED_TRACE(format("rank {}", rank));
  dry_run::StepTrace trace;
  const auto world = comm::World::record(rank, ranks, &trace);
  const Mesh mesh = mesh_of(config.parallel, ranks);
  const parallel::Ranks place(*world, config);
  verify::Side side(config, place);
  for (int64_t step = 0; step < 2; ++step) {
    trace.clear();
    side.gradients_of(step, &trace);
    side.update(&trace);
    const std::vector<Volume> volumes = volume_of_step(config, mesh, rank);
    EXPECT_THAT(differences(counted(volumes), recorded(trace)), IsEmpty());
    const RankPlan plan = plan_of(config, mesh, rank);
    EXPECT_EQ(dry_run::first_difference(plan, training_program(plan), trace).value_or(""), "");
    for (const Volume& volume : volumes) {
      seen.kinds.insert(volume.traffic);
      seen.calls += volume.calls;
    }
    ++seen.steps;
  }
}

void compare_case(const tests::Case& c, int ranks, Seen& seen) {
  SCOPED_TRACE(format("{} ranks: {}", ranks, tests::name_of(c)));
  const config::RunConfig config = tests::config_of(c, ranks);
  for (const int rank : std::set<int>{0, ranks / 2, ranks - 1})
    compare_step(config, ranks, rank, seen);
}

TEST(Volume, IsThatOfEveryLayoutOfTheGrid) {
  Seen seen;
  for (const tests::Grid& grid : tests::all_grids()) {
    for (const tests::Case& c : grid.cases) compare_case(c, grid.ranks, seen);
  }
  std::printf("%ld steps, %ld calls, %zu kinds of traffic\n", static_cast<long>(seen.steps),
              static_cast<long>(seen.calls), seen.kinds.size());
}

// Layouts that the grid lacks: schedules of stages that keep their weights between passes, norms
// over split heads, half precision.
TEST(Volume, IsThatOfOtherLayouts) {
  Seen seen;
  const tests::Sets olmo2 = {"model.qk_norm=width", "model.norm_place=after", "model.heads=4"};
  const auto with = [](tests::Sets sets, const tests::Sets& more) {
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  };
  const std::vector<std::pair<int, tests::Case>> cases = {
      {4, {.llama = true, .sets = with(olmo2, {"parallel.tp=2", "train.precision=bf16"})}},
      {4,
       {.llama = true,
        .sets = with(olmo2, {"parallel.tp=2", "train.recompute=full", "train.micro_batch=1"})}},
      {8,
       {.llama = true,
        .sets = {"parallel.tp=4", "train.recompute=full", "model.kv_heads=1",
                 "train.precision=fp32", "parallel.sharding=optimizer"}}},
      {4,
       {.sets = {"parallel.pp=2", "parallel.sharding=shard_grad_op", "train.micro_batch=1",
                 "train.precision=bf16"}}},
      {4,
       {.sets = {"parallel.pp=2", "parallel.sharding=shard_grad_op", "train.micro_batch=1",
                 "parallel.schedule=interleaved", "parallel.chunks=2"}}},
      {6,
       {.sets = {"parallel.pp=3", "parallel.sharding=full_shard",
                 "parallel.reshard_after_forward=false", "train.micro_batch=1",
                 "parallel.schedule=gpipe", "parallel.units=size_based",
                 "parallel.unit_parameters=5000"}}},
      {12,
       {.llama = true,
        .sets = {"parallel.dp_replicate=3", "parallel.tp=2", "parallel.sharding=hybrid_shard",
                 "parallel.units=size_based", "parallel.unit_parameters=3000",
                 "train.precision=bf16"}}},
  };
  for (const auto& [ranks, c] : cases) compare_case(c, ranks, seen);
}

TEST(Volume, OfEveryKindIsSeen) {
  std::set<Traffic> kinds;
  for (const char* kv_heads : {"model.kv_heads=2", "model.kv_heads=1"}) {
    tests::Case c{
        .llama = true,
        .optimizer = "muon",
        .sets = {"model.qk_norm=width", "model.tied=true", "parallel.tp=2", "parallel.pp=2",
                 "parallel.dp_replicate=2", "parallel.sharding=hybrid_shard", kv_heads}};
    if (std::string_view(kv_heads) == "model.kv_heads=1") c.sets[0] = "model.qk_norm=none";
    Seen seen;
    compare_case(c, 16, seen);
    kinds.merge(seen.kinds);
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(blueprint::kNumTraffics));
}

// Llama 3 405B on 16,384 ranks, as its makers ran it up to the sharding of the optimizer alone.
// Figures of a rank in the middle of the pipeline, by hand: its 8 blocks have 8 * (16384 * (16384 +
// 2 * 1024) + 16384^2 + 3 * 16384 * 53248) / 8 parameters and two norms each.
TEST(Volume, OfSixteenThousandRanksIsCountedByHand) {
  const config::RunConfig config = config::load_or_throw(
      {.sets = {"model.layers=126", "model.width=16384", "model.heads=128", "model.kv_heads=8",
                "model.hidden=53248", "model.context=8192", "model.vocab_size=128256",
                "model.positions=rotary", "model.norm=rms", "model.activation=swiglu",
                "model.bias=none", "model.tied=false", "train.batch=2048", "train.micro_batch=1",
                "train.precision=bf16", "parallel.tp=8", "parallel.pp=16",
                "parallel.sharding=optimizer"},
       .job = config::JobSize{16'384, 8}});
  const Mesh mesh = mesh_of(config.parallel, 16'384);
  std::vector<Volume> middle;
  std::map<int, double> sent;
  for (int stage = 0; stage < 16; ++stage) {
    const int rank = stage * 1024;
    const std::vector<Volume> volumes = volume_of_step(config, mesh, rank);
    if (stage == 7) middle = volumes;
    for (const Volume& volume : volumes) sent[stage] += sent_bytes(volume);
  }
  std::printf("16 ranks of %s\n", mesh.describe().c_str());
  for (const Volume& volume : middle)
    std::printf("  %-20s %-14s %-10s %4d ranks %6ld calls %12s, sent %12s\n",
                std::string(traffic_name(volume.traffic)).c_str(),
                std::string(exchange_name(volume.exchange)).c_str(), volume.axes.name().c_str(),
                volume.ranks, static_cast<long>(volume.calls), format_bytes(volume.bytes).c_str(),
                format_bytes(static_cast<int64_t>(sent_bytes(volume))).c_str());
  std::printf("  sent in all: first stage %s, middle %s, last %s\n",
              format_bytes(static_cast<int64_t>(sent[0])).c_str(),
              format_bytes(static_cast<int64_t>(sent[7])).c_str(),
              format_bytes(static_cast<int64_t>(sent[15])).c_str());
  constexpr int64_t kMatrices =
      16384LL * (16384 + 2 * 1024) / 8 + 16384LL * 16384 / 8 + 3 * 16384LL * 53248 / 8;
  const Lines lines = counted(middle);
  const auto expect = [&](const std::string& name, int64_t calls, int64_t bytes) {
    ASSERT_TRUE(lines.contains(name)) << name;
    EXPECT_EQ(lines.at(name), std::make_pair(calls, bytes)) << name;
  };
  constexpr int64_t kBlock = kMatrices + 2 * 16384;
  constexpr int64_t kRows = int64_t{8192} * 16384 * 2;
  expect("weights: all_gather over 128 of dp_shard", 8, 8 * kBlock * 2);
  expect("gradients: reduce_scatter over 128 of dp_shard", 8, 8 * kBlock * 4);
  expect("tensor activations: all_gather over 8 of tp", 16 * 8 * 6, 16 * 8 * 6 * kRows);
  expect("tensor activations: reduce_scatter over 8 of tp", 16 * 8 * 4, 16 * 8 * 4 * kRows);
  expect("activations: send over 16 of pp", 16, 16 * kRows / 8);
  expect("partial gradients: all_reduce over 8 of tp", 8, 8 * 2 * 16384 * 4);
}

}  // namespace
}  // namespace shoal::plan
