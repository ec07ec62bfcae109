#include "app/launch_over_ssh.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "shoal/cluster/launcher_signals.h"
#include "shoal/cluster/restarts.h"
#include "shoal/cluster/secret.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::app {
namespace {

using cluster::Environment;
using cluster::Program;
using cluster::Words;

constexpr size_t kMaxVariablesBytes = 1 << 20;

// What a job reads from its environment, wherever it is started. PATH and LD_LIBRARY_PATH are those of
// the host that ssh leads to.
constexpr const char* kPassedOn[] = {"SHOAL_", "OMP_",  "GOMP_", "MKL_", "TORCH_", "NCCL_",
                                     "CUDA_",  "GLOO_", "UCX_",  "FI_",  "AWS_"};

// NAME=VALUE, each with a zero byte behind it; one more is the end.
std::string variables_of(const std::map<std::string, std::string>& variables) {
  std::string text;
  for (const auto& [name, value] : variables)
    text.append(name).append("=").append(value).push_back('\0');
  return text + '\0';
}

std::map<std::string, std::string> passed_on() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    const bool passes = std::any_of(std::begin(kPassedOn), std::end(kPassedOn),
                                    [&](const char* prefix) { return text.starts_with(prefix); });
    if (passes && equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

// "user@host" is reached as host.
std::string name_of(const std::string& host) { return host.substr(host.rfind('@') + 1); }

Words line_of(const OverSsh& job, size_t host, const Environment& environment) {
  Words launcher = job.launcher;
  launcher.insert(launcher.end(), {"--hosts", std::to_string(job.hosts.size()), "--host",
                                   std::to_string(host), "--attached"});
  if (job.hosts.size() > 1)
    launcher.insert(launcher.end(), {"--address", job.address.value_or(name_of(job.hosts[0]))});
  launcher.emplace_back("--");
  launcher.insert(launcher.end(), job.command.begin(), job.command.end());
  return cluster::ssh_line(environment, job.hosts[host], std::filesystem::current_path().string(),
                           launcher);
}

// Starts the job once, after it was started `restarts` times before, and waits for its end. Its name
// stays, so that a run's directory passes from one start to the next.
cluster::JobResult run_once(const OverSsh& job,
                            const std::string& name,
                            const Environment& environment,
                            size_t restarts,
                            const std::string& why) {
  const cluster::Secret secret = cluster::Secret::random();
  std::map<std::string, std::string> variables = passed_on();
  variables["SHOAL_JOB_SECRET"] = secret.hex();
  variables.emplace("SHOAL_JOB", name);
  if (restarts > 0) {
    variables[cluster::kRestartCountVariable] = std::to_string(restarts);
    variables[cluster::kRestartCauseVariable] = why;
  }
  for (const std::string& host : job.hosts)
    variables["SHOAL_HOSTS"] += (variables["SHOAL_HOSTS"].empty() ? "" : ",") + name_of(host);
  std::vector<Program> programs;
  for (size_t host = 0; host < job.hosts.size(); ++host)
    programs.push_back({.arguments = line_of(job, host, environment),
                        .environment = {},
                        .name = "the launcher on " + job.hosts[host],
                        .input = variables_of(variables)});
  return cluster::supervise(programs, {.grace = job.grace, .settle = std::chrono::seconds(2)});
}

// Takes hosts out, and returns their names. An address that was given is that of the first host.
std::string without(OverSsh& job, const std::vector<size_t>& gone) {
  std::vector<std::string> names;
  for (auto host = gone.rbegin(); host != gone.rend(); ++host) {
    names.insert(names.begin(), job.hosts[*host]);
    job.hosts.erase(job.hosts.begin() + static_cast<ptrdiff_t>(*host));
    if (*host == 0) job.address.reset();
  }
  return listed(names);
}

}  // namespace

int print_over_ssh(const OverSsh& job, const Environment& environment) {
  for (size_t host = 0; host < job.hosts.size(); ++host)
    std::cout << cluster::shell_text(line_of(job, host, environment)) << "\n";
  return 0;
}

int launch_over_ssh(const OverSsh& job, const Environment& environment) {
  cluster::hold_signals();  // also between two starts
  OverSsh left = job;
  const std::string name = "launch." + cluster::Secret::random().hex().substr(0, 16);
  std::string why;  // it was started again
  for (;;) {
    const size_t lost = job.hosts.size() - left.hosts.size();
    const cluster::JobResult result = run_once(left, name, environment, lost, why);
    if (!result.cause.empty()) write_error_line("launch: " + result.cause);
    const std::vector<size_t>& gone = result.unreachable;
    if (!job.min_hosts || result.asked_to_stop || gone.empty() ||
        !cluster::may_go_better(result.exit_code, result.steps) ||
        left.hosts.size() < gone.size() + static_cast<size_t>(*job.min_hosts))
      return result.exit_code;
    why = without(left, gone) + " cannot be reached";
    write_error_line(format("launch: {}: goes on with {} of {} hosts", why, left.hosts.size(),
                            job.hosts.size()));
  }
}

int receive_variables() {
  std::string text;
  char byte = 0;
  while (!text.ends_with(std::string_view("\0\0", 2)) && text != std::string_view("\0", 1)) {
    if (::read(STDIN_FILENO, &byte, 1) != 1 || text.size() > kMaxVariablesBytes)
      throw UsageError(
          "--attached reads variables from standard input, but there are none: it is for launchers "
          "that `shoal launch --hostfile` starts");
    text.push_back(byte);
  }
  std::string_view rest(text);
  while (rest.size() > 1) {
    const std::string entry(rest.substr(0, rest.find('\0')));
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--attached: standard input does not begin with variables");
    ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), /*overwrite=*/1);
    rest.remove_prefix(entry.size() + 1);
  }
  const int orders = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (orders < 0 || ::dup2(null.get(), STDIN_FILENO) < 0)
    throw UsageError(format("cannot keep standard input: {}", describe_errno(errno)));
  return orders;
}

}  // namespace shoal::app
