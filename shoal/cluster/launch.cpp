#include "shoal/cluster/launch.h"

#include <algorithm>

#include "shoal/cluster/address.h"
#include "shoal/cluster/cpu_shares.h"
#include "shoal/cluster/hostlist.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"

namespace shoal::cluster {
namespace {

constexpr int kMaxRanksPerHost = 1024;
constexpr int kMaxHosts = 65536;

void check(const LaunchRequest& request) {
  if (request.ranks < 1 || request.ranks > kMaxRanksPerHost) {
    throw UsageError(
        format("--ranks is {}, but must be from 1 to {}", request.ranks, kMaxRanksPerHost));
  }
  if (request.hosts < 1 || request.hosts > kMaxHosts) {
    throw UsageError(format("--hosts is {}, but must be from 1 to {}", request.hosts, kMaxHosts));
  }
  if (request.hosts > kMaxRanks / request.ranks) {
    throw UsageError(format("--hosts {} with --ranks {} are more than {} ranks", request.hosts,
                            request.ranks, kMaxRanks));
  }
  if (request.host < 0 || request.host >= request.hosts) {
    throw UsageError(format("--host is {}, but with --hosts {} must be from 0 to {}", request.host,
                            request.hosts, request.hosts - 1));
  }
  if (request.hosts == 1 && !request.address.empty()) {
    throw UsageError("--address is for a job on several hosts: add --hosts, or leave it out");
  }
  if (request.hosts > 1 && request.address.empty()) {
    throw UsageError(format(
        "--hosts is {}, so --address must give the address of host 0, the same on every host",
        request.hosts));
  }
  if (request.command.empty()) {
    throw UsageError("nothing to launch: write a command after --");
  }
}

// " on n2": ranks are named with their host where there are several.
std::string place_of(const LaunchRequest& request) {
  if (request.hosts == 1) return "";
  const std::vector<std::string> names = expand_hostlist(request.host_list);
  const auto host = static_cast<size_t>(request.host);
  return " on " + (host < names.size() ? names[host] : host_name());
}

void bind_to_cpus(std::vector<Program>& programs) {
  const std::vector<Cpu> cpus = allowed_cpus();
  const std::vector<std::vector<int>> shares = cpu_shares(cpus, static_cast<int>(programs.size()));
  // The same number for all, also where some have one more: their threads must not divide work otherwise.
  const size_t share = std::max<size_t>(cpus.size() / programs.size(), 1);
  for (size_t i = 0; i < programs.size(); ++i) {
    if (!shares.empty()) programs[i].cpus = shares[i];
    if (!cpus.empty()) programs[i].environment[kCpusVariable] = std::to_string(share);
  }
}

}  // namespace

std::vector<Program> programs_of_host(const LaunchRequest& request) {
  check(request);
  std::map<std::string, std::string> shared = {
      {"SHOAL_WORLD_SIZE", std::to_string(request.ranks * request.hosts)},
      {"SHOAL_LOCAL_SIZE", std::to_string(request.ranks)},
      {"SHOAL_NODE", std::to_string(request.host)},
      {"SHOAL_NUM_NODES", std::to_string(request.hosts)}};
  if (request.hosts == 1) {
    const Secret secret = Secret::random();
    shared["SHOAL_JOB_SECRET"] = secret.hex();
    shared["SHOAL_JOB"] = "launch." + secret.derive("name").hex().substr(0, 16);
    shared["SHOAL_STORE"] = "127.0.0.1";
  } else {
    shared["SHOAL_JOB"] = "launch." + request.address;
    shared["SHOAL_STORE"] = request.address;
  }
  if (request.job) shared["SHOAL_JOB"] = *request.job;
  if (!request.host_list.empty()) shared["SHOAL_HOSTS"] = request.host_list;
  const std::string place = place_of(request);
  std::vector<Program> programs;
  for (int local = 0; local < request.ranks; ++local) {
    const int rank = request.host * request.ranks + local;
    Program program{.arguments = request.command,
                    .environment = shared,
                    .name = format("rank {}{}", rank, place)};
    program.environment["SHOAL_RANK"] = std::to_string(rank);
    program.environment["SHOAL_LOCAL_RANK"] = std::to_string(local);
    if (!request.output.empty()) program.output = format("{}/rank-{}.log", request.output, rank);
    programs.push_back(std::move(program));
  }
  if (request.bind) bind_to_cpus(programs);
  return programs;
}

}  // namespace shoal::cluster
