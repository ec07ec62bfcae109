// The executor runs the list it is given, operation by operation, and adds nothing of its own.

#include "shoal/parallel/executor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/parallel/ranks.h"
#include "shoal/plan/layout.h"

#include "tests/support/random_tensors.h"

namespace shoal::parallel {
namespace {

using plan::Operation;
using plan::OpKind;
using plan::Program;
using ::testing::ElementsAreArray;

// What a ParallelModel on one rank is made of, within reach.
class Parts {
 public:
  Parts()
      : config_(config::load_or_throw(
            {.sets = {"model.layers=3", "model.width=12", "model.heads=3", "model.context=7",
                      "model.vocab_size=29", "train.batch=3", "train.micro_batch=1",
                      "train.precision=fp64"},
             .job = config::JobSize{.ranks = 1}})),
        world_(comm::World::record(/*rank=*/0, /*world_size=*/1, nullptr)),
        ranks_(Ranks::alone(*world_)),
        plan_(plan::plan_of(config_, ranks_.mesh(), 0)) {
    StageTensors& stage = stages_.emplace_back();
    stage.decoder =
        std::make_unique<model::Decoder>(config_.model, builder_, plan_.stages.front().range);
    std::vector<optim::FlatUnit> flat;
    for (const plan::GroupPlan& group : plan_.stages.front().groups) {
      std::vector<model::UnitWeights*> units;
      for (const size_t unit : group.units)
        units.push_back(&stage.decoder->units()[unit]->weights());
      const comm::Group self = ranks_.along(plan::Axis::kTp);
      stage.groups.push_back(
          std::make_unique<UnitGroup>(units, group, DataRanks{self, self}, materials_));
      const UnitGroup& made = *stage.groups.back();
      flat.push_back({.name = made.name(),
                      .weight = made.shard(),
                      .gradient = made.shard_gradient(),
                      .ranges = {{.begin = 0, .end = made.shard().numel()}}});
    }
    optimizer_ = std::make_unique<optim::Optimizer>(config_.optimizer, std::move(flat));
    const comm::Group self = ranks_.along(plan::Axis::kTp);
    executor_ = std::make_unique<Executor>(plan_, stages_, optimizer_.get(),
                                           StepGroups{.pipeline = self,
                                                      .tensor = self,
                                                      .data = self,
                                                      .losses = self,
                                                      .norms = self,
                                                      .matrices = std::nullopt},
                                           materials_);
  }

  [[nodiscard]] const plan::RankPlan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<std::unique_ptr<UnitGroup>>& groups() const {
    return stages_.front().groups;
  }

  // Runs a step over three micro-batches by this program.
  Executor& run(const Program& program, OperationListener* listener = nullptr) {
    std::vector<model::Pass> passes;
    for (int i = 0; i < 3; ++i) {
      model::Pass pass{.tokens = tests::random_classes("tokens" + std::to_string(i), {1, 7}, 29)};
      pass.targets = {.classes = tests::random_classes("targets" + std::to_string(i), {7}, 29)};
      stages_.front().decoder->place(pass);
      passes.push_back(std::move(pass));
    }
    optimizer_->begin(/*lr=*/0.01, /*gradient_scale=*/{});
    executor_->begin(std::move(passes));
    executor_->run(program, listener);
    return *executor_;
  }

 private:
  config::RunConfig config_;
  std::unique_ptr<comm::World> world_;
  Ranks ranks_;
  plan::RankPlan plan_;
  model::Materials materials_{.dtype = at::kDouble, .gradient_dtype = at::kDouble, .seed = 3};
  model::PlainBuilder builder_{{}};
  std::vector<StageTensors> stages_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<Executor> executor_;
};

class Trace final : public OperationListener {
 public:
  void before(const Operation& operation) override {
    EXPECT_FALSE(inside_);
    inside_ = true;
    operations.push_back(operation);
  }
  void after(const Operation& operation) override {
    EXPECT_EQ(operation, operations.back());
    inside_ = false;
  }

  Program operations;

 private:
  bool inside_ = false;
};

TEST(Executor, TellsItsListenerEachOperationInOrder) {
  Parts parts;
  const Program program = plan::training_program(parts.plan());
  Trace trace;
  parts.run(program, &trace);
  EXPECT_THAT(trace.operations, ElementsAreArray(program));
}

TEST(Executor, UpdatesNothingThatTheProgramLeavesOut) {
  Parts parts;
  Program program = plan::training_program(parts.plan());
  std::erase_if(program, [](const Operation& operation) {
    return operation.kind == OpKind::kUpdate && operation.index == 1;
  });
  std::vector<at::Tensor> before;
  for (const auto& group : parts.groups()) before.push_back(group->shard().clone());
  parts.run(program);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(parts.groups()[i]->shard().equal(before[i]), i == 1) << parts.groups()[i]->name();
}

// The mean loss is the mean of three losses, and a program without the last forward pass lacks it.
TEST(Executor, SumsTheLossesThatTheProgramComputes) {
  Parts parts;
  const Program whole = plan::evaluation_program(parts.plan(), 3);
  const double all = parts.run(whole).loss().item<double>();
  Program shorter = whole;
  std::erase_if(shorter, [](const Operation& operation) {
    return operation.kind == OpKind::kForward && operation.micro_batch == 2;
  });
  Executor& executor = parts.run(shorter);
  const double two = executor.loss().item<double>();
  const std::vector<at::Tensor> results = executor.take_results();
  ASSERT_EQ(results.size(), 3U);
  EXPECT_FALSE(results[2].defined());
  EXPECT_NEAR(two, (results[0] + results[1]).item<double>(), 1e-14);
  EXPECT_NEAR(all, std::log(29), 0.5);
  EXPECT_NEAR(two / all, 2.0 / 3, 0.05);
}

}  // namespace
}  // namespace shoal::parallel
