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
#include "shoal/config/agreement.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"
#include "shoal/core/stop_signals.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/generate/generator.h"
#include "shoal/metrics/patient_sink.h"
#include "shoal/metrics/terminal.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/memory.h"
#include "shoal/plan/replicas.h"
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

// Returns what train.sample_prompt and train.sample_tokens ask for; nothing when the latter is 0 or
// the data has no tokenizer.
std::optional<train::Sample> sample_of(const config::RunConfig& config) {
  if (config.train.sample_tokens == 0 || config.data.sources.empty() ||
      tokenizer_files(config.data.sources.front()).empty())
    return std::nullopt;
  const auto tokenizer = data::read_tokenizer(config.data.sources.front());
  std::vector<data::TokenId> prompt;
  data::Encoder(tokenizer).encode(config.train.sample_prompt, prompt);
  const auto text = [tokenizer, prompt, tokens = config.train.sample_tokens,
                     seed = config.run.seed](parallel::ParallelModel& model) {
    generate::GenerateOptions options{.max_new_tokens = tokens, .slide = true};
    options.sampling.seed = seed;
    return generate::Generator(model, tokenizer).run(prompt, options).text;
  };
  return train::Sample{prompt, text};
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

// What the rounds of a job have in common; most jobs have one.
struct Run {
  const Job& job;
  const fs::path& directory;
  comm::World& world;
  train::Hooks hooks;
  StopSignal& signal;
  std::function<void()> give_back;  // the run's directory
  std::optional<config::ClusterConfig> cluster;
  std::shared_ptr<MetricsPage> page;
};

// Returns why the metrics go on from here; empty when they do not.
std::pair<std::string, std::string> turn_of(const Run& run, int64_t steps_done) {
  const cluster::Round& round = run.world.round();
  if (round.number > 0)
    return {"round", format("goes on after step {} with {} of {} ranks: {}", steps_done,
                            round.seats.size(), run.job.ranks(), listed(round.seats))};
  if (run.job.me.restarts > 0)
    return {"restart", format("restart {}: goes on after step {}{}", run.job.me.restarts,
                              steps_done, cause_of_restart(run.job))};
  return {};
}

// Returns the sinks of metrics: files and the terminal on rank 0, none on other ranks.
metrics::Sinks sinks_of(const Run& run, const train::Trainer& trainer) {
  if (!run.job.speaks()) return {};
  const config::RunConfig& config = trainer.config();
  const int64_t steps = trainer.steps_done();
  const auto [tag, why] = turn_of(run, steps);
  if (run.world.round().number == 0) {
    describe_run(run.job, config, run.directory);
    keep_tokenizer(config.data.sources.front(), run.directory);
  }
  metrics::Sinks sinks =
      steps == 0 && tag.empty()
          ? metrics::open_files(run.directory, 0)
          : metrics::open_files(run.directory, trainer.first_record(), /*texts_from=*/steps + 1);
  sinks.add(
      metrics::patient("plan.json", std::make_unique<PlanFile>(run.directory / "plan.json", config,
                                                               run.world.size(), run.cluster)));
  sinks.add(std::make_unique<metrics::Terminal>(
      STDOUT_FILENO, metrics::TerminalOptions{.total_steps = config.train.steps,
                                              .print_every = config.train.log_every,
                                              .legend = run.world.round().number == 0}));
  if (run.page) sinks.add(std::make_unique<MetricsPageSink>(run.page));
  if (!tag.empty()) sinks.text(steps, tag, why);
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
      "or the model, or use more ranks; `shoal plan CONFIG` shows what takes the memory",
      format_bytes(needed), format_bytes(there)));
}

// ---- rounds: replicas are lost and come back ----

void require_replicas(const Job& job, const comm::World& world) {
  if (!plan::has_replicas(job.config.parallel, job.ranks()))
    throw UsageError(
        "comm.lost_rank is go_on, but this layout has one copy of the model, which cannot go on "
        "without a rank: set parallel.dp_replicate to 2 or more, or comm.lost_rank to restart");
  if (!world.has_rounds())
    throw UsageError(
        format("comm.lost_rank is go_on, but groups of {} cannot be left after an error: use the "
               "gloo backend, or set comm.lost_rank to restart",
               world.backend()));
}

config::RunConfig config_of_round(const Job& job, const comm::World& world) {
  config::RunConfig config = job.config;
  if (world.round().number > 0)
    config.parallel = plan::replicas_left(config.parallel, job.ranks(), world.size());
  return config;
}

// Whether another round would have more ranks than this one.
bool others_are_back(const Job& job, comm::World& world) {
  if (!world.has_rounds() || world.size() == job.ranks()) return false;
  cluster::RoundEnd end{.reports = {}, .waiting = world.newly_waiting()};
  if (end.waiting.empty()) return false;
  const cluster::Round& now = world.round();
  for (const int seat : now.seats) end.reports.push_back({seat, now.step});
  return plan::without_lost_replicas(job.config, job.ranks(), now, end).seats.size() >
         now.seats.size();
}

int exit_code_of(train::End end, const Run& run, int64_t steps_done) {
  if (end == train::End::kDone) return 0;
  // Another rank's may have been first.
  const int stopped_by = run.signal.received().value_or(SIGTERM);
  log::info("stopped by signal {} after step {}, which is {} in {}", stopped_by, steps_done,
            end == train::End::kStopped ? "saved" : "not saved", run.directory.string());
  return exit_code_of_stop(stopped_by);
}

// Trains in one round. Returns the exit code; nothing when the job may go on in another, for which
// `carried` has the state of this rank then.
std::optional<int> train_in_round(const Run& run, std::optional<train::Carried>& carried) {
  std::unique_ptr<train::Trainer> trainer;
  std::optional<EndOnSignal> ends;  // what has no steps has nothing to save between them
  if (run.job.config.train.eval_only) ends.emplace(run.signal, run.give_back);
  try {
    trainer = std::make_unique<train::Trainer>(config_of_round(run.job, run.world), run.directory,
                                               run.world, run.hooks, carried ? &*carried : nullptr);
    carried.reset();
    if (trainer->config().train.eval_only) return evaluate_only(*trainer, run.job.speaks());
    require_memory(trainer->config(), run.world);
    metrics::Sinks sinks = sinks_of(run, *trainer);
    run.world.watch();
    const train::End end = trainer->run(sinks);
    if (end != train::End::kNextRound) {
      run.world.unwatch();
      return exit_code_of(end, run, trainer->steps_done());
    }
  } catch (const PeerLost& lost) {
    // Without a trainer this rank may have no state of its place: then the job is started again.
    if (!run.world.has_rounds() || !trainer) throw;
    log::warn("{}", lost.what());
  }
  run.world.break_off();
  carried = trainer->carry();
  return std::nullopt;
}

int train_in_rounds(const Run& run) {
  std::optional<train::Carried> carried;
  for (;;) {
    if (const std::optional<int> code = train_in_round(run, carried)) {
      run.world.leave();
      return *code;
    }
    const int before = run.world.round().number;
    const bool goes_on = run.world.next_round(
        carried->steps_done(),
        [&](const cluster::Round& over, const cluster::RoundEnd& end) {
          return plan::without_lost_replicas(run.job.config, run.job.ranks(), over, end);
        },
        [&](comm::Group pair, int source) { carried->sync_from(std::move(pair), source); });
    if (!goes_on) return 0;
    // The state of a rank that was left out meanwhile is out of date.
    if (run.world.round().number != before + 1) carried.reset();
    log::info("goes on after step {} with {} of {} ranks", run.world.round().step, run.world.size(),
              run.job.ranks());
  }
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
      "The run is kept in run.directory/run.name. SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 "
      "save\na checkpoint and end; --set train.init_from=resume resumes from the newest.");
  command.option("CONFIG", file, "YAML file; `shoal config help` explains its keys",
                 {.shown = "FILE"});
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
  options.rounds = job.config.comm.lost_rank == config::LostRank::kGoOn;
  options.spares = job.config.comm.spare_ranks;
  options.shared_config = config::shared_by_ranks(job.config);
  cluster::StepReport report;
  if (job.me.rank >= job.ranks()) report.tell_replaceable();
  const auto give_back = [&owner] {
    if (owner) owner->give_back();
  };
  const auto world = [&] {
    // The others may be long in coming, and a spare rank is called into a round late or never.
    const EndOnSignal ends(signal, give_back);
    return comm::World::join(job.me, job.environment, options);
  }();
  if (!world) return 0;  // the job has ended without this process
  if (options.rounds) require_replicas(job, *world);
  // A process that is called into a later round finds the others beyond this.
  const bool begins = world->round().number == 0;
  if (begins) world->control().barrier("the run's directory");
  const std::shared_ptr<MetricsPage> page =
      job.speaks() ? open_metrics_page(job.config.train.prometheus_port, job.config.run.name,
                                       job.me.restarts)
                   : nullptr;
  // Launchers of several hosts count their own restarts.
  const bool restarted = begins && world->control().any(job.me.restarts > 0, "a restart");
  if (options.rounds && !job.speaks()) report.tell_replaceable();
  return train_in_rounds({.job = job,
                          .directory = directory,
                          .world = *world,
                          .hooks = {.stop = [&] { return signal.received().has_value(); },
                                    .owns_run = [&] { return !owner || !owner->was_lost(); },
                                    .owns_run_now = [&] { return !owner || owner->owns(); },
                                    .sample = sample_of(job.config),
                                    .saved =
                                        [page](const checkpoint::SavedCheckpoint& saved) {
                                          if (page) page->show(saved);
                                        },
                                    .progress =
                                        [&](int64_t steps) {
                                          report.tell(steps);
                                          world->tell_step(steps);
                                        },
                                    .others_are_back = [&] { return others_are_back(job, *world); },
                                    .restarted = restarted,
                                    .process_began = began},
                          .signal = signal,
                          .give_back = give_back,
                          .cluster = cluster,
                          .page = page});
}

}  // namespace shoal::app
