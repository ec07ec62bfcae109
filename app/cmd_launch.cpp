#include "app/cmd_launch.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>

#include <unistd.h>

#include "shoal/cluster/allocation.h"
#include "shoal/cluster/environment.h"
#include "shoal/cluster/launch.h"
#include "shoal/cluster/launch_line.h"
#include "shoal/cluster/membership.h"
#include "shoal/cluster/staging.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/core/error.h"

#include "app/arguments.h"
#include "app/completion.h"
#include "app/launch_over_ssh.h"
#include "app/launch_ranks.h"

namespace shoal::app {
namespace {

using cluster::Environment;
using cluster::Membership;
using cluster::Words;

struct LaunchWords {
  std::optional<int> ranks;
  std::optional<int> hosts;
  std::optional<int> host;
  std::optional<std::string> address;
  std::optional<std::string> hostfile;
  std::optional<int> min_hosts;
  std::optional<std::string> output;
  int grace = 30;
  int max_restarts = 0;
  std::optional<std::string> stage;
  bool no_bind = false;
  bool dry_run = false;
  bool attached = false;
  Words command;        // what follows --
  std::string program;  // shoal itself: this executable, or its copy
};

Arguments arguments_of(LaunchWords& words) {
  Arguments command("shoal launch",
                    "Start the ranks of a job, pass signals on, and say who failed first.\n\n"
                    "  shoal launch --ranks 4 -- doctor                        # on this host\n"
                    "  shoal launch --max-restarts 100 -- train run.yaml       # in a Slurm or PBS "
                    "job: all its hosts\n"
                    "  shoal launch --hostfile hosts.txt -- train run.yaml     # over ssh\n"
                    "  shoal launch --ranks 8 --hosts 2 --host 0 --address 10.0.0.1 -- doctor   # "
                    "by hand, on each host\n");
  command.option("--ranks", words.ranks,
                 "ranks on each host; default: as the job was submitted, else its GPUs",
                 {.shown = "N"});
  command.option("--hostfile", words.hostfile,
                 "hosts to start the ranks on over ssh: lines of HOST, HOST slots=N or HOST:N",
                 {.shown = "FILE"});
  command.option("--min-hosts", words.min_hosts,
                 "go on without hosts of the file that cannot be reached any more, on so many or "
                 "more; training resumes if its layout can be run there (plan.other_ranks)",
                 {.shown = "N", .range = {{1, 1'000'000}}});
  command.option("--hosts", words.hosts, "hosts of the job; run the same command on each",
                 {.shown = "N"});
  command.option("--host", words.host, "which host this is, from 0", {.shown = "I"});
  command.option("--address", words.address, "address of host 0 that the others can reach",
                 {.shown = "ADDRESS[:PORT]"});
  command.option("--output", words.output,
                 "directory for one log file per rank instead of this terminal", {.shown = "DIR"});
  command.option("--grace", words.grace, "seconds between asking ranks to stop and killing them",
                 {.shown = "S", .range = {{0, 3600}}});
  command.option("--max-restarts", words.max_restarts,
                 "start the ranks again when one fails, at most N times; training resumes",
                 {.shown = "N", .range = {{0, 1'000'000}}});
  command.option("--stage", words.stage,
                 "copy the program to this directory of each host's own disk, and run it there",
                 {.shown = "DIR"});
  command.flag("--no-bind", words.no_bind, "do not bind each rank to its share of the CPUs");
  command.flag("--dry-run", words.dry_run, "print what would be started, and start nothing");
  command.flag("--attached", words.attached,
               "take variables and signals from standard input, and end when it ends; --hostfile "
               "starts launchers so");
  command.footer("The command follows --; a word with a slash in it names a program of your own.");
  return command;
}

// Words with a slash name a program of the user's own; others are commands of this executable.
Words program_of(const LaunchWords& words) {
  if (words.command.empty() || words.command[0].find('/') != std::string::npos)
    return words.command;
  Words command = {words.program};
  command.insert(command.end(), words.command.begin(), words.command.end());
  return command;
}

// Runs scripts that make copies, side by side. Throws UsageError when one fails.
void make_copies(const std::vector<std::string>& scripts, const std::string& directory) {
  std::vector<cluster::Program> programs;
  programs.reserve(scripts.size());
  for (const std::string& script : scripts)
    programs.push_back(
        {.arguments = {"/bin/sh", "-c", script}, .environment = {}, .name = "a copy"});
  const cluster::JobResult result = cluster::supervise(programs, {});
  if (result.exit_code != 0)
    throw UsageError(
        format("--stage: {} could not be made on every host: {}", directory, result.cause));
}

// Copies the program to the disks of its hosts if that is asked for: `scripts` says how.
void stage(LaunchWords& words,
           const std::function<std::vector<std::string>(const cluster::Staging&)>& scripts) {
  if (!words.stage) return;
  const cluster::Staging staging = cluster::staging_of(words.program, *words.stage);
  words.program = staging.program().string();
  if (words.dry_run) {
    for (const std::string& script : scripts(staging)) std::cout << script << "\n";
  } else {
    make_copies(scripts(staging), staging.directory.string());
  }
}

int ranks_or_refuse(const LaunchWords& words, const std::optional<int>& given) {
  if (words.ranks) return *words.ranks;
  if (given) return *given;
  throw UsageError(
      "how many ranks should each host have? There are no GPUs to count, and no --ntasks-per-node "
      "of Slurm, mpiprocs of PBS or slots of a host file: give --ranks N");
}

// The launcher that each host runs, without its place.
Words launcher_of(const LaunchWords& words, int ranks) {
  Words launcher = {words.program, "launch", "--ranks", std::to_string(ranks)};
  const auto add = [&](const Words& more) {
    launcher.insert(launcher.end(), more.begin(), more.end());
  };
  if (words.output) add({"--output", *words.output});
  if (words.grace != LaunchWords().grace) add({"--grace", std::to_string(words.grace)});
  if (words.max_restarts > 0) add({"--max-restarts", std::to_string(words.max_restarts)});
  if (words.no_bind) add({"--no-bind"});
  return launcher;
}

// The same, with what it launches, for a job on so many hosts.
Words launcher_with_command(const LaunchWords& words, int ranks, size_t hosts) {
  Words launcher = launcher_of(words, ranks);
  if (words.address && hosts > 1) launcher.insert(launcher.end(), {"--address", *words.address});
  launcher.emplace_back("--");
  launcher.insert(launcher.end(), words.command.begin(), words.command.end());
  return launcher;
}

// Prints the line and becomes it: srun and mpiexec pass signals on and return the exit code.
int run_line(Words line, bool dry_run) {
  (dry_run ? std::cout : std::cerr) << cluster::shell_text(line) << std::endl;
  if (dry_run) return 0;
  std::vector<char*> pointers;
  pointers.reserve(line.size() + 1);
  for (std::string& word : line) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  throw UsageError(format("cannot start {}: {}", line[0], describe_errno(errno)));
}

int launch_in_slurm(LaunchWords words,
                    const cluster::Allocation& given,
                    const Environment& environment) {
  const int ranks = ranks_or_refuse(words, given.ranks);
  const auto hosts = static_cast<int>(given.hosts.size());
  stage(words, [&](const cluster::Staging& staging) {
    return std::vector{staging.under_slurm(environment, hosts)};
  });
  const Words launcher = launcher_with_command(words, ranks, given.hosts.size());
  return run_line(cluster::srun_line(environment, hosts, launcher), words.dry_run);
}

int launch_in_pbs(LaunchWords words, const cluster::Allocation& given) {
  const int ranks = ranks_or_refuse(words, given.ranks);
  const cluster::Mpiexec kind =
      cluster::mpiexec_of(cluster::output_of({"mpiexec", "--version"}, std::chrono::seconds(10)));
  const auto line = [&](const Words& launcher) {
    return cluster::mpiexec_line(kind, static_cast<int>(given.hosts.size()), launcher);
  };
  stage(words, [&](const cluster::Staging& staging) {
    return std::vector{cluster::shell_text(line({"/bin/sh", "-c", staging.here()}))};
  });
  return run_line(line(launcher_with_command(words, ranks, given.hosts.size())), words.dry_run);
}

int launch_on_hosts_of_file(LaunchWords words, const Environment& environment) {
  const cluster::Allocation given = cluster::read_hostfile(*words.hostfile);
  const int ranks = ranks_or_refuse(words, given.ranks);
  stage(words, [&](const cluster::Staging& staging) {
    std::vector<std::string> scripts;
    for (const std::string& host : given.hosts)
      scripts.push_back(staging.over_ssh(environment, host));
    return scripts;
  });
  const OverSsh job{.hosts = given.hosts,
                    .address = words.address,
                    .launcher = launcher_of(words, ranks),
                    .command = words.command,
                    .grace = std::chrono::seconds(words.grace),
                    .min_hosts = words.min_hosts};
  return words.dry_run ? print_over_ssh(job, environment) : launch_over_ssh(job, environment);
}

// Takes the place of this launcher from what started it once on each host.
void place_in_step(const Membership& me, cluster::LaunchRequest& request) {
  if (me.local_size != 1)
    throw UsageError(
        format("{} has started {} launchers on this host, but one starts all its ranks: start one "
               "per host, as with `srun --ntasks-per-node=1`, or `shoal launch` alone in the job",
               me.launcher, me.local_size));
  request.hosts = me.num_nodes;
  request.host = me.node;
  if (me.num_nodes == 1) return;
  request.job = me.job;
  request.address = me.store_host;
  for (const std::string& host : me.hosts)
    request.host_list += (request.host_list.empty() ? "" : ",") + host;
  // A variable of the environment has room for 128 KiB.
  if (request.host_list.size() > 100'000) request.host_list.clear();
}

void print(const std::vector<cluster::Program>& programs) {
  for (const cluster::Program& program : programs) {
    Words line = {"env"};
    for (const auto& [name, value] : program.environment) {
      if (name != "SHOAL_JOB_SECRET") line.push_back(format("{}={}", name, value));
    }
    line.insert(line.end(), program.arguments.begin(), program.arguments.end());
    std::cout << cluster::shell_text(line) << "\n";
  }
}

int launch_here(LaunchWords words,
                const Membership& me,
                const Environment& environment,
                int orders) {
  stage(words, [](const cluster::Staging& staging) { return std::vector{staging.here()}; });
  cluster::LaunchRequest request;
  request.command = program_of(words);
  request.ranks = ranks_or_refuse(words, cluster::ranks_per_host(environment));
  const bool in_step = me.launcher == "slurm" || me.launcher == "openmpi" ||
                       me.launcher == "pals" || me.launcher == "hydra";
  if (in_step && !words.hosts) place_in_step(me, request);
  request.hosts = words.hosts.value_or(request.hosts);
  const bool is_hosts = in_step && me.num_nodes == request.hosts;
  request.host = words.host.value_or(is_hosts ? me.node : 0);
  request.address = words.address.value_or(request.address);
  request.output = words.output.value_or("");
  if (words.hosts) request.host_list = environment.get_or("SHOAL_HOSTS", "");
  if (const auto job = environment.get("SHOAL_JOB")) request.job = job;
  request.bind = !words.no_bind;
  const std::vector<cluster::Program> programs = cluster::programs_of_host(request);
  if (words.dry_run) {
    print(programs);
    return 0;
  }
  if (words.output) make_output_directory(*words.output);
  return launch_ranks(programs, {.grace = std::chrono::seconds(words.grace), .orders = orders},
                      {.most = words.max_restarts});
}

void check(const LaunchWords& words) {
  if (words.hostfile && (words.hosts || words.host || words.attached))
    throw UsageError("--hostfile says where ranks run: leave out --hosts, --host and --attached");
  if (words.min_hosts && !words.hostfile)
    throw UsageError(
        "--min-hosts is for hosts of a --hostfile: in a job of Slurm or PBS the scheduler decides "
        "how many hosts there are");
  if (words.host && !words.hosts)
    throw UsageError("--host is for a job on several hosts: add --hosts and --address");
}

}  // namespace

int run_launch(const std::vector<std::string>& arguments) {
  // CLI11 would read options of the launched command as ours: split at -- first.
  const bool completes = !arguments.empty() && arguments.back() == kCompleteWord;
  const auto dashes =
      completes ? arguments.end() : std::find(arguments.begin(), arguments.end(), "--");
  LaunchWords words;
  Arguments command = arguments_of(words);
  if (dashes == arguments.end() && std::none_of(arguments.begin(), dashes, asks_about_command)) {
    throw UsageError(
        "nothing to launch: write the command after --, as in `shoal launch --ranks 2 -- doctor`");
  }
  if (!command.parse({arguments.begin(), dashes})) return 0;
  words.command = {dashes + 1, arguments.end()};
  words.program = std::filesystem::read_symlink("/proc/self/exe").string();
  check(words);
  const int orders = words.attached ? receive_variables() : -1;
  const Environment environment = Environment::of_this_process();
  if (words.hostfile) return launch_on_hosts_of_file(words, environment);
  const Membership me = cluster::detect_membership(environment);
  const auto given = words.hosts ? std::nullopt : cluster::allocation_of(environment, me);
  if (given)
    return me.scheduler == "slurm" ? launch_in_slurm(words, *given, environment)
                                   : launch_in_pbs(words, *given);
  return launch_here(words, me, environment, orders);
}

}  // namespace shoal::app
