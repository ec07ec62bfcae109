#include "shoal/cluster/allocation.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include "shoal/cluster/hostlist.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxHostfileBytes = 64 << 20;

std::optional<int> positive(std::string_view text) {
  const std::optional<int> number = number_in<int>(text);
  return number && *number >= 1 ? number : std::nullopt;
}

// "4", "4(x2)", "a100:4": what Slurm writes about each node, when all have the same.
std::optional<int> same_on_each_node(const Environment& env, const std::string& variable) {
  const std::optional<std::string> text = env.get(variable);
  if (!text) return std::nullopt;
  const std::vector<int> numbers =
      expand_tasks_per_node(std::string_view(*text).substr(text->rfind(':') + 1));
  const bool same =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
  if (numbers.empty() || !same || numbers[0] < 1) return std::nullopt;
  return numbers[0];
}

// Lines per host in a PBS node file: `mpiprocs` of the job. 1 is what it is when nobody asked.
std::optional<int> slots_of_nodefile(const Environment& env) {
  const std::optional<std::string> path = env.get("PBS_NODEFILE");
  if (!path) return std::nullopt;
  std::istringstream lines(read_file(*path, kMaxHostfileBytes));
  std::string first;
  std::getline(lines, first);
  int count = 1;
  for (std::string line; std::getline(lines, line);) count += line == first ? 1 : 0;
  return count > 1 ? std::optional(count) : std::nullopt;
}

std::optional<int> gpus_of_this_host(const Environment& env) {
  if (const auto visible = env.get("CUDA_VISIBLE_DEVICES"))
    return static_cast<int>(std::count(visible->begin(), visible->end(), ',')) + 1;
  int count = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename().string();
    const std::string_view number = std::string_view(name).substr(std::min<size_t>(name.size(), 6));
    if (name.starts_with("nvidia") && (number == "0" || positive(number))) ++count;
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

struct HostLine {
  std::string host;
  std::optional<int> ranks = std::nullopt;
};

std::optional<HostLine> read_host(const std::string& line) {
  std::istringstream words(line);
  HostLine read;
  words >> read.host;
  const size_t colon = read.host.rfind(':');
  // An IPv6 address has several colons, and none of them comes before a number of ranks.
  if (colon != std::string::npos && read.host.find(':') == colon) {
    read.ranks = positive(std::string_view(read.host).substr(colon + 1));
    if (!read.ranks) return std::nullopt;
    read.host.resize(colon);
  }
  std::string word;
  if (words >> word) {
    const std::string_view slots = "slots=";
    if (read.ranks || !word.starts_with(slots)) return std::nullopt;
    read.ranks = positive(std::string_view(word).substr(slots.size()));
    if (!read.ranks) return std::nullopt;
  }
  // A name with a leading dash would be an option of ssh.
  if (read.host.empty() || read.host.front() == '-' || words >> word) return std::nullopt;
  return read;
}

}  // namespace

std::optional<int> ranks_per_host(const Environment& env) {
  if (const auto tasks = env.get_number("SLURM_NTASKS_PER_NODE")) return tasks;
  if (const auto slots = slots_of_nodefile(env)) return slots;
  for (const char* variable : {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}) {
    if (const auto gpus = same_on_each_node(env, variable)) return gpus;
  }
  return gpus_of_this_host(env);
}

std::optional<Allocation> allocation_of(const Environment& env, const Membership& me) {
  if (me.launcher != "none" || me.scheduler == "none" || me.hosts.empty()) return std::nullopt;
  return Allocation{me.hosts, ranks_per_host(env)};
}

Allocation read_hostfile(const fs::path& path) {
  std::istringstream lines(read_file(path, kMaxHostfileBytes));
  Allocation given;
  std::unordered_set<std::string> seen;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::optional<HostLine> read = read_host(line);
    if (!read)
      throw UsageError(format("{}:{}: '{}' is not HOST, HOST slots=N or HOST:N", path.string(),
                              number, line.substr(0, 80)));
    if (!seen.insert(read->host).second)
      throw UsageError(
          format("{}:{}: host '{}' stands there twice", path.string(), number, read->host));
    if (!given.hosts.empty() && read->ranks != given.ranks)
      throw UsageError(
          format("{}:{}: host '{}' has another number of ranks than the hosts before it, but all "
                 "must have the same",
                 path.string(), number, read->host));
    given.hosts.push_back(read->host);
    given.ranks = read->ranks;
  }
  if (given.hosts.empty()) throw UsageError(format("{} names no host", path.string()));
  return given;
}

}  // namespace shoal::cluster
