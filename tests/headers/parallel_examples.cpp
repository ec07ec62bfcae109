#include <cstdint>
#include <filesystem>
#include <vector>

#include "shoal/checkpoint/handover.h"
#include "shoal/checkpoint/held_tensors.h"
#include "shoal/checkpoint/resume.h"
#include "shoal/checkpoint/saver.h"
#include "shoal/checkpoint/staged_part.h"
#include "shoal/comm/world.h"
#include "shoal/config/run_config.h"
#include "shoal/core/log.h"
#include "shoal/dry_run/dry_run.h"
#include "shoal/dry_run/meta_kernels.h"
#include "shoal/dry_run/meta_memory.h"
#include "shoal/dry_run/step_trace.h"
#include "shoal/model/decoder.h"
#include "shoal/parallel/fingerprint.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/parallel/ranks.h"
#include "shoal/parallel/replica_check.h"
#include "shoal/parallel/tensor/tensor_builder.h"
#include "shoal/parallel/tensor/tensor_gradients.h"
#include "shoal/parallel/tensor/tensor_rows.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/train/rank_clocks.h"
#include "shoal/train/step_replay.h"
#include "shoal/train/step_timeline.h"
#include "shoal/train/step_tracer.h"
#include "shoal/train/trainer.h"
#include "shoal/train/wrong_bits.h"
#include "shoal/verify/agreement.h"
#include "shoal/verify/random_case.h"
#include "shoal/verify/side.h"
#include "shoal/verify/tolerance.h"

namespace shoal::parallel {
namespace {

// shoal/parallel/parallel_model.h
void parallel_model(const config::RunConfig& config,
                    const Ranks& ranks,
                    const model::Materials& materials,
                    const std::vector<model::Pass>& passes,
                    double lr) {
  ParallelModel model(config, ranks, materials);
  const at::Tensor loss = model.forward_backward(passes, {.lr = lr});
  const optim::Update update = model.update();
}

// shoal/parallel/executor.h
void executor(const plan::RankPlan& plan,
              const std::vector<StageTensors>& stages,
              optim::Optimizer* optimizer,
              const StepGroups& groups,
              const model::Materials& materials,
              const std::vector<model::Pass>& passes,
              OperationListener* listener) {
  Executor executor(plan, stages, optimizer, groups, materials);
  executor.begin(passes);
  executor.run(plan::training_program(plan), listener);
  executor.loss();
}

// shoal/parallel/fingerprint.h
bool fingerprint(c10::Device device, const at::Tensor& weights) {
  const Fingerprints fingerprints(device);
  const at::Tensor before = fingerprints.of(weights);
  return fingerprints.of(weights).equal(before);
}

// shoal/parallel/replica_copies.h
void replica_copies(const ParallelModel& model, const Ranks& ranks) {
  ReplicaCopies copies(model, ranks);
  for (const Copies& each : copies.of(Grain::kWeight)) each.group.size();
}

// shoal/parallel/replica_check.h
void replica_check(const ParallelModel& model, const Ranks& ranks, comm::World& world) {
  ReplicaCheck check(model, ranks);
  check.differences(world);
}

// shoal/parallel/ranks.h
void ranks(comm::World& world, const config::RunConfig& config, const at::Tensor& sum) {
  Ranks ranks(world, config);
  ranks.along(plan::Axis::kTp).all_reduce(sum, comm::Reduce::kSum, "a sum").wait();
}

// shoal/parallel/tensor/tensor_builder.h
void tensor_builder(const Ranks& ranks, const config::RunConfig& config) {
  comm::Group tp = ranks.along(plan::Axis::kTp);
  TensorBuilder builder(tp, {.seed = 1});
  model::Decoder decoder(config.model, builder, blueprint::UnitRange::all(config.model));
  for (const auto& unit : decoder.units()) sum_partial_gradients(unit->weights(), tp);
}

// shoal/parallel/tensor/tensor_rows.h
void tensor_rows(const comm::Group& group,
                 const at::Tensor& x,
                 int64_t count,
                 void (*product)(const at::Tensor&)) {
  TensorRows rows(group);
  Arriving all = rows.gather(x, count, "input of blocks.3.mlp.up");
  product(all.wait());
}

}  // namespace
}  // namespace shoal::parallel

namespace shoal::checkpoint {
namespace {

// shoal/checkpoint/handover.h
void handover(const TrainingState& state, const comm::Group& replicas, bool has_it) {
  const CarriedState carried = carry(state);
  hand_over(has_it ? &carried : nullptr, state, replicas);
}

// shoal/checkpoint/resume.h
void refuse_other_data(const Described& found) {}

void resume(const std::filesystem::path& root, const TrainingState& state) {
  const Described from =
      resume_newest(root, state, [](const Described& found) { refuse_other_data(found); });
  from.step, from.values;
}

// shoal/checkpoint/saver.h
void saver(comm::World& world,
           uint64_t step,
           const TrainingState& state,
           const state::Values& values,
           const SaveStatus& agreed) {
  Saver saver(world, "runs/a/checkpoints");
  saver.begin(step, state, values, {.after = [](const SavedCheckpoint& saved) {
                state::prune("runs/a/checkpoints", {.keep = 3, .newest = saved.step});
              }});
  saver.advance(agreed);
  saver.finish();
}

// shoal/checkpoint/staged_part.h
void staged_part(const TrainingState& state, size_t i) {
  StagedPart part;
  part.take(written_by(state));
  part.specs(), part.bytes(i);
}

}  // namespace
}  // namespace shoal::checkpoint

namespace shoal::train {
namespace {

// shoal/train/trainer.h
void trainer(const config::RunConfig& config,
             const std::filesystem::path& directory,
             comm::World& world,
             const bool& signalled,
             metrics::Sinks& sinks) {
  Trainer trainer(config, directory, world, {.stop = [&] { return signalled; }});
  trainer.run(sinks);
}

// shoal/train/rank_clocks.h
void rank_clocks(comm::World& world, std::chrono::nanoseconds event_time) {
  const ClockOffset offset = align_clocks(world);
  event_time - offset.ahead;
}

// shoal/train/step_timeline.h
void step_timeline(parallel::ParallelModel& model,
                   c10::Device device,
                   const std::vector<model::Pass>& passes,
                   double lr,
                   std::vector<std::string>& lanes,
                   Clock::time_point since) {
  StepTimeline timeline(model.plan(), device, /*most=*/10'000);
  timeline.data_is_here();
  model.forward_backward(passes, {.lr = lr, .listener = &timeline});
  model.update(&timeline);
  timeline.end();
  timeline.slices(lanes, since);
}

// shoal/train/step_tracer.h
void step_tracer(comm::World& world,
                 const parallel::ParallelModel& model,
                 const std::filesystem::path& directory) {
  StepTracer tracer(world, model.plan(), directory, {10, 11});
  if (StepTimeline* timeline = tracer.begin(10)) timeline->data_is_here();
  tracer.end();
  tracer.write();
}

// shoal/train/run_checkpoints.h
void run_checkpoints(comm::World& world,
                     const std::filesystem::path& directory,
                     const config::RunConfig& config,
                     const std::function<bool()>& owns_run,
                     const checkpoint::TrainingState& state,
                     const state::Values& description,
                     double loss) {
  Progress progress;
  RunCheckpoints checkpoints(world, directory / "checkpoints", config.train, owns_run);
  if (checkpoints.exist()) progress = checkpoints.resume(state, description).progress;
  checkpoints.save(progress, state, description, {.val_loss = loss});
}

// shoal/train/step_poll.h
bool step_poll(StepPoll& poll, bool signalled, int64_t peak) {
  poll.ask({.stop = signalled, .memory_bytes = peak});
  if (const auto all = poll.answer(); all && all->stop) return true;
  return false;
}

// shoal/train/stragglers.h
void stragglers(comm::World& world, const plan::Mesh& mesh) {
  Stragglers stragglers(world, mesh);
  stragglers.begin_step();
  const std::vector<Stragglers::Slow> slow = stragglers.end_step();
  log::warn("{}", stragglers.names(slow));
}

// shoal/train/wrong_bits.h
void wrong_bits(parallel::ParallelModel& model,
                const parallel::Ranks& ranks,
                comm::World& world,
                const std::vector<model::Pass>& passes,
                const parallel::StepOptions& options,
                const StepWitness& witness,
                void (*finish_save)()) {
  WrongBits wrong_bits(model, ranks, world, [&] { finish_save(); });
  wrong_bits.require_same_replay(41, passes, options, witness);
  wrong_bits.require_same_replicas(41);
}

// shoal/train/step_replay.h
void step_replay(parallel::ParallelModel& model,
                 comm::World& world,
                 const std::vector<model::Pass>& passes,
                 double lr) {
  StepWitness first(model);
  model.forward_backward(passes, {.lr = lr, .listener = &first});
  replayed_differently(model, world, passes, {.lr = lr}, first);
  model.update();
}

// shoal/train/unread_steps.h
void unread_steps(UnreadSteps& unread,
                  double lr,
                  const at::Tensor& loss,
                  const optim::Update& update,
                  std::vector<StepFigures>& all) {
  unread.begin();
  unread.end({.step = 7, .lr = lr}, loss, update);
  for (const StepFigures& figures : unread.read()) all.push_back(figures);
}

}  // namespace
}  // namespace shoal::train

namespace shoal::verify {
namespace {

// shoal/verify/agreement.h
void agreement(const config::RunConfig& config, comm::World& world) {
  const Agreement found = compare_with_one_rank(config, world, {.steps = 5});
  found.worst();
}

// shoal/verify/random_case.h
void random_case(uint64_t seed) {
  RandomCase found = draw_case(seed, /*number=*/17);
  found.command();
  for (const RandomCase& candidate : simpler(found)) candidate.config();
}

// shoal/verify/side.h
void side(const config::RunConfig& config, const parallel::Ranks& ranks) {
  Side side(config, ranks);
  for (int64_t step = 0; step < 5; ++step) {
    const at::Tensor loss = side.gradients_of(step);
    side.update();
  }
}

// shoal/verify/tolerance.h
void tolerance(const config::RunConfig& config, const Agreement& found) {
  const Tolerance allowed = tolerance_of(config, found);
  if (!outside(found, allowed).empty()) return;
}

}  // namespace
}  // namespace shoal::verify

namespace shoal::dry_run {
namespace {

// shoal/dry_run/dry_run.h
void dry_run(const config::RunConfig& config, const plan::RankPlan& plan) {
  const DryRun found = run_dry(config, plan, plan::training_program(plan));
  found.difference;
  found.peak, found.planned.peak();
}

// shoal/dry_run/meta_kernels.h
void meta_kernels() { register_meta_kernels(); }

// shoal/dry_run/meta_memory.h
void meta_memory() {
  MetaMemory& memory = MetaMemory::installed();
  const at::Tensor x = at::empty({1 << 30}, at::TensorOptions().device(at::kMeta));
  memory.current();
}

// shoal/dry_run/step_trace.h
void step_trace(int rank,
                int ranks,
                verify::Side& side,
                const plan::RankPlan& plan,
                const plan::Program& program) {
  StepTrace trace;
  const auto world = comm::World::record(rank, ranks, &trace);
  side.gradients_of(0, &trace);
  side.update(&trace);
  first_difference(plan, program, trace);
}

}  // namespace
}  // namespace shoal::dry_run
