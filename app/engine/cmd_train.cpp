#include "app/engine/cmd_train.h"

#include <csignal>
#include <filesystem>
#include <iostream>

#include <sys/sysinfo.h>
#include <unistd.h>

#include "shoal/cluster/restarts.h"
#include "shoal/cluster/run_owner.h"
#include "shoal/cluster/step_page.h"
#include "shoal/cluster/watcher.h"
#include "shoal/comm/world.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/generate/generator.h"
#include "shoal/metrics/terminal.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/memory.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/train/trainer.h"

#include "app/arguments.h"
#include "app/engine/job.h"
#include "app/engine/metrics_page.h"
#include "app/engine/plan_file.h"
#include "app/engine/process_age.h"
#include "app/engine/stop_signal.h"
#include "app/tokenizer_choice.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

// Makes the run's directory, or takes an existing one.
std::unique_ptr<cluster::RunOwner> own_run_directory(const Job& job, const fs::path& directory) {
  make_output_directory(directory.string(), "run.directory/run.name");
  auto owner = std::make_unique<cluster::RunOwner>(
      directory, job.me, job.environment,
      cluster::RunOwnerOptions{.take_over = job.config.run.take_over});
  if (job.config.train.init_from != config::kFromResume && job.me.restarts == 0 &&
      !state::checkpoints_in(directory / "checkpoints").empty())
    throw UsageError(
        format("{} holds checkpoints of a run: go on with it by --set "
               "train.init_from=resume, or choose another run.name",
               directory.string()));
  return owner;
}

// Writes the run's config and the facts about the job into its directory.
void describe_run(const Job& job, const config::RunConfig& config, const fs::path& directory) {
  config::save(config, directory / "config.yaml");
  write_file_atomically(directory / "run.json", facts_of(job).json());
}

// Returns a function that generates from train.sample_prompt at each evaluation; nullptr when
// train.sample_tokens is 0 or the data has no tokenizer.
std::function<std::string(parallel::ParallelModel&)> sampler_for(const config::RunConfig& config) {
  if (config.train.sample_tokens == 0 || config.data.sources.empty() ||
      tokenizer_files(config.data.sources.front()).empty())
    return nullptr;
  const auto tokenizer = data::read_tokenizer(config.data.sources.front());
  std::vector<data::TokenId> prompt;
  data::Encoder(tokenizer).encode(config.train.sample_prompt, prompt);
  return [tokenizer, prompt, tokens = config.train.sample_tokens,
          seed = config.run.seed](parallel::ParallelModel& model) {
    generate::GenerateOptions options{.max_new_tokens = tokens, .slide = true};
    options.sampling.seed = seed;
    return generate::Generator(model, tokenizer).run(prompt, options).text;
  };
}

int evaluate_only(train::Trainer& trainer, bool speaks) {
  const double loss = trainer.evaluate_once();
  if (speaks) std::cout << format("val_loss {:.6f}\nperplexity {:.4f}\n", loss, std::exp(loss));
  return 0;
}

std::string cause_of_restart(const Job& job) {
  const std::string cause = job.environment.get_or(cluster::kRestartCauseVariable, "");
  return cause.empty() ? "" : "; " + cause;
}

// Returns the sinks of metrics: files and the terminal on rank 0, none on other ranks.
metrics::Sinks sinks_of(const Job& job,
                        const train::Trainer& trainer,
                        const fs::path& directory,
                        const std::optional<config::ClusterConfig>& cluster,
                        const std::shared_ptr<MetricsPage>& page) {
  if (!job.speaks()) return {};
  describe_run(job, trainer.config(), directory);
  keep_tokenizer(trainer.config().data.sources.front(), directory);
  const bool anew = trainer.steps_done() == 0 && job.me.restarts == 0;
  metrics::Sinks sinks = metrics::open_files(directory, anew ? 0 : trainer.steps_done() + 1);
  sinks.add(std::make_unique<PlanFile>(directory / "plan.json", trainer.config(), job.me.world_size,
                                       cluster));
  sinks.add(std::make_unique<metrics::Terminal>(
      STDOUT_FILENO, metrics::TerminalOptions{.total_steps = trainer.config().train.steps,
                                              .print_every = trainer.config().train.log_every}));
  if (page) sinks.add(std::make_unique<MetricsPageSink>(page));
  if (job.me.restarts > 0)
    sinks.text(trainer.steps_done(), "restart",
               format("restart {}: goes on after step {}{}", job.me.restarts, trainer.steps_done(),
                      cause_of_restart(job)));
  return sinks;
}

// Throws when the tensors of a step are more than this host can hold: the kernel would kill the rank
// in the middle of it, without a word. A GPU's allocator says so itself.
void require_memory(const config::RunConfig& config, const comm::World& world) {
  struct sysinfo host {};
  if (!world.device().is_cpu() || ::sysinfo(&host) != 0) return;
  const auto there = static_cast<int64_t>(host.totalram + host.totalswap) * host.mem_unit;
  const plan::Mesh mesh = plan::mesh_of(config.parallel, world.size());
  const int64_t needed = plan::memory_of_step(config, mesh, world.rank()).peak();
  if (needed <= there) return;
  throw UsageError(format(
      "a step needs {} of memory, but this host has {}: lower train.micro_batch, train.batch "
      "or the model, or use more ranks; `shoal plan CONFIG` tells what needs how much",
      format_bytes(needed), format_bytes(there)));
}

int train_in(const fs::path& directory,
             const Job& job,
             comm::World& world,
             const train::Hooks& hooks,
             StopSignal& signal,
             const std::optional<config::ClusterConfig>& cluster,
             const std::shared_ptr<MetricsPage>& page) {
  train::Trainer trainer(job.config, directory, world, hooks);
  if (trainer.config().train.eval_only) return evaluate_only(trainer, job.speaks());
  require_memory(trainer.config(), world);
  metrics::Sinks sinks = sinks_of(job, trainer, directory, cluster, page);
  world.watch();
  if (trainer.run(sinks) == train::End::kDone) return 0;
  const int stopped_by = signal.received().value_or(SIGTERM);  // another rank's may have been first
  log::info("stopped by signal {} after step {}, which is saved in {}", stopped_by,
            trainer.steps_done(), directory.string());
  return stopped_by == SIGINT ? 128 + SIGINT : static_cast<int>(ExitCode::kRequeue);
}

}  // namespace

int run_train(const std::vector<std::string>& arguments) {
  const Clock::time_point began = process_start();
  std::optional<std::string> file;
  std::vector<std::string> sets;
  Arguments command(
      "shoal train",
      "Train a model as a config says; one rank of a job, or a process alone.\n\n"
      "  shoal train configs/shakespeare.yaml --set data.sources=[tokens]\n\n"
      "The run is kept in run.directory/run.name. SIGTERM and Ctrl-C save a checkpoint and "
      "end;\n--set train.init_from=resume goes on from the newest.");
  command.option("CONFIG", file, "YAML file; docs/config.md has its keys", {.shown = "FILE"});
  command.option("--set", sets, "change one key of the config", {.shown = "KEY=VALUE"});
  if (!command.parse(arguments)) return 0;
  StopSignal signal;
  const Job job = start_job(file, sets, RankCheck::kForTraining);
  const std::optional<config::ClusterConfig> cluster =
      job.speaks() && job.config.plan.cluster
          ? std::optional(config::load_cluster(*job.config.plan.cluster))
          : std::nullopt;
  keep_freed_memory();
  set_threads(job);
  const fs::path directory = fs::path(job.config.run.directory) / job.config.run.name;
  const std::unique_ptr<cluster::RunOwner> owner =
      job.speaks() ? own_run_directory(job, directory) : nullptr;
  ActivityBoard board;
  const ActivityBoard::Seat seat(board, cluster::kStepThread);
  comm::WorldOptions options = world_options(job);
  options.board = &board;
  const auto world = comm::World::join(job.me, job.environment, options);
  world->control().barrier("the run's directory");
  const std::shared_ptr<MetricsPage> page =
      job.speaks() ? open_metrics_page(job.config.train.prometheus_port, job.config.run.name,
                                       job.me.restarts)
                   : nullptr;
  // Launchers of several hosts count their own restarts.
  const bool restarted = world->control().any(job.me.restarts > 0, "a restart");
  cluster::StepReport report;
  const int code = train_in(directory, job, *world,
                            {.stop = [&] { return signal.received().has_value(); },
                             .owns_run = [&] { return !owner || !owner->was_lost(); },
                             .owns_run_now = [&] { return !owner || owner->owns(); },
                             .sample = sampler_for(job.config),
                             .saved =
                                 [page](const checkpoint::SavedCheckpoint& saved) {
                                   if (page) page->show(saved);
                                 },
                             .progress =
                                 [&](int64_t steps) {
                                   report.tell(steps);
                                   world->tell_step(steps);
                                 },
                             .restarted = restarted,
                             .process_began = began},
                            signal, cluster, page);
  world->leave();
  return code;
}

}  // namespace shoal::app
