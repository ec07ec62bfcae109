#include "shoal/cluster/launch.h"

#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

constexpr int kMaxRanksPerHost = 1024;

void check(const LaunchRequest& request) {
  if (request.ranks < 1 || request.ranks > kMaxRanksPerHost) {
    throw UsageError(
        format("--ranks is {}, but must be from 1 to {}", request.ranks, kMaxRanksPerHost));
  }
  if (request.hosts < 1 || request.host < 0 || request.host >= request.hosts) {
    throw UsageError(format("--host is {} with --hosts {}: hosts are numbered from 0", request.host,
                            request.hosts));
  }
  if (request.hosts > 1 && request.address.empty()) {
    throw UsageError(format(
        "--hosts is {}, so --address must give the address of host 0, the same on every host",
        request.hosts));
  }
  if (request.command.empty()) {
    throw UsageError(
        "nothing to launch: write the command after --, as in `shoal launch --ranks 2 -- doctor`");
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
  std::vector<Program> programs;
  for (int local = 0; local < request.ranks; ++local) {
    const int rank = request.host * request.ranks + local;
    Program program{request.command, shared, ""};
    program.environment["SHOAL_RANK"] = std::to_string(rank);
    program.environment["SHOAL_LOCAL_RANK"] = std::to_string(local);
    if (!request.output.empty()) program.output = format("{}/rank-{}.log", request.output, rank);
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace shoal::cluster
