// The gradients of no_shard on two ranks are those of PyTorch's own Reducer, to the bit; shards on
// three ranks, the last of them padded, gather to the whole weights and hold the sum of gradients.

#include "shoal/parallel/unit_group.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "shoal/comm/world.h"

#include "tests/support/random_tensors.h"
#include "tests/support/run_ranks.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using tests::random_numbers;

const std::vector<std::vector<int64_t>> kShapes = {{13, 7}, {31}, {5, 29}, {1}};

// Returns a gradient that differs between ranks.
at::Tensor gradient_of(size_t weight, int rank) {
  return random_numbers("gradient " + std::to_string(weight) + std::to_string(rank),
                        kShapes[weight]);
}

// Averages as DistributedDataParallel does: autograd hooks fill buckets, which are all-reduced.
std::vector<at::Tensor> by_reducer(const c10::intrusive_ptr<c10d::Backend>& backend,
                                   int rank,
                                   int size) {
  std::vector<at::Tensor> weights;
  for (const auto& shape : kShapes)
    weights.push_back(at::zeros(shape, at::kDouble).requires_grad_(true));
  auto group = c10::make_intrusive<c10d::ProcessGroup>(rank, size);
  group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO, backend);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  const std::vector<size_t> limits = {256, 1024};  // several buckets
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(weights, limits));
  std::reverse(buckets.begin(), buckets.end());
  const auto reducer = std::make_shared<c10d::Reducer>(
      weights, buckets, group, std::vector<bool>(weights.size(), false), 1024,
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
      std::unordered_map<size_t, std::string>{}, 256, false, false, std::vector<int64_t>{});
  const auto logger = std::make_shared<c10d::Logger>(reducer);
  reducer->set_logger(logger);
  reducer->prepare_for_forward();
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (size_t i = 0; i < weights.size(); ++i)
    loss = loss + (weights[i] * gradient_of(i, rank)).sum();
  reducer->prepare_for_backward({});
  loss.backward();
  std::vector<at::Tensor> averages;
  for (const at::Tensor& weight : weights) averages.push_back(weight.grad().clone());
  return averages;
}

blueprint::UnitBlueprint unit_of_shapes() {
  std::vector<blueprint::WeightSpec> weights;
  for (size_t i = 0; i < kShapes.size(); ++i)
    weights.push_back(
        blueprint::whole_weight(std::to_string(i), kShapes[i], blueprint::Init::normal(0.5)));
  return blueprint::unit_of(config::UnitKind::kBlock, "unit", std::move(weights));
}

TEST(UnitGroup, AddsUpWhatPytorchsReducerAverages) {
  tests::run_ranks(2, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 30s, .rendezvous = 30s});
    {
      const std::vector<at::Tensor> expected =
          by_reducer(world->bare_group("reducer", {0, 1}), me.rank, 2);
      model::UnitWeights unit(unit_of_shapes());
      const DataRanks ranks{world->group("alone", {me.rank}), world->group("copies", {0, 1})};
      const plan::GroupPlan whole{
          .units = {0}, .shard = unit.elements(), .policy = {.keep_weights = true}};
      UnitGroup group({&unit}, whole, ranks, {.dtype = at::kDouble, .gradient_dtype = at::kDouble});
      group.open_gradients();
      for (size_t i = 0; i < kShapes.size(); ++i)
        model::Weight(&unit, i).add_gradient(gradient_of(i, me.rank));
      group.start_replicas();
      group.await_replicas();
      const std::vector<at::Tensor> found = unit.views_of(group.shard_gradient());
      for (size_t i = 0; i < kShapes.size(); ++i)
        EXPECT_TRUE(found[i].div(2).equal(expected[i])) << i;
    }
    world->leave();
  });
}

// The number of elements is no multiple of the ranks, and two micro-batches add up.
TEST(UnitGroup, GathersAndReducesUnevenShards) {
  tests::run_ranks(3, [](const cluster::Membership& me, const cluster::Environment& environment) {
    const auto world = comm::World::join(
        me, environment, {.backend = config::Backend::kGloo, .deadline = 30s, .rendezvous = 30s});
    {
      const model::Materials materials{
          .dtype = at::kDouble, .gradient_dtype = at::kDouble, .seed = 5};
      model::UnitWeights alone(unit_of_shapes());
      const comm::Group self = world->group("alone", {me.rank});
      const UnitGroup whole(
          {&alone}, {.units = {0}, .shard = alone.elements(), .policy = {.keep_weights = true}},
          DataRanks{self, self}, materials);
      model::UnitWeights unit(unit_of_shapes());
      const int64_t shard = (unit.elements() + 2) / 3;
      ASSERT_NE(unit.elements() % 3, 0);
      UnitGroup group({&unit}, {.units = {0}, .shard = shard},
                      DataRanks{world->group("shards", {0, 1, 2}), self}, materials);
      for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
        group.start_gather();
        group.await_gather();
        for (size_t i = 0; i < kShapes.size(); ++i)
          EXPECT_TRUE(model::Weight(&unit, i).value().equal(model::Weight(&alone, i).value())) << i;
        group.open_gradients();
        for (size_t i = 0; i + 1 < kShapes.size(); ++i)  // nobody writes the last
          model::Weight(&unit, i).add_gradient(gradient_of(i, me.rank));
        group.release();
        group.start_reduce(/*adds=*/micro_batch > 0);
        group.await_reduce();
      }
      const at::Tensor sums = at::zeros({3 * shard}, at::kDouble);
      const std::vector<at::Tensor> views = unit.views_of(sums.narrow(0, 0, unit.elements()));
      for (size_t i = 0; i + 1 < kShapes.size(); ++i) {
        for (int rank = 0; rank < 3; ++rank) views[i].add_(gradient_of(i, rank), 2);
      }
      const at::Tensor expected = sums.narrow(0, me.rank * shard, shard);
      EXPECT_LT((group.shard_gradient() - expected).abs().max().item<double>(), 1e-14);
    }
    world->leave();
  });
}

}  // namespace
}  // namespace shoal::parallel
