#include "app/host_facts.h"

#include <fstream>
#include <sstream>

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "shoal/cluster/address.h"
#include "shoal/cluster/rendezvous.h"
#include "shoal/cluster/secret.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/version.h"

#include "app/build_commit.h"
#include "app/sibling_process.h"

namespace shoal::app {
namespace {

// The value of the first line "KEY : value" of a file such as /proc/cpuinfo.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? "" : line.substr(first);
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

int64_t available_bytes() {
  std::istringstream text(value_in("/proc/meminfo", "MemAvailable"));
  int64_t kib = 0;
  text >> kib;
  return kib * 1024;
}

std::string listen_address(const cluster::Membership& me,
                           const cluster::Environment& environment,
                           const std::optional<std::string>& interface) {
  if (me.world_size == 1) return "none: one rank alone has nobody to meet";
  try {
    const cluster::Secret secret = cluster::job_secret(environment, me.job);
    const cluster::StorePlace place = cluster::store_place(me, secret, interface);
    return format("{} port {}{}", place.addresses.front(), place.ports.front(),
                  me.node == 0 ? "" : " on rank 0's node");
  } catch (const Error& e) {
    return std::string("unknown: ") + e.what();
  }
}

}  // namespace

void add_build_facts(Report& report) {
  const auto engine = find_sibling(Sibling::kEngine);
  report.section("shoal")
      .add("version", kVersion)
      .add("commit", build_commit())
      .add("build", SHOAL_BUILD_TYPE)
      .add("compiler", "g++ " __VERSION__)
      .add("engine", engine ? engine->string() : "none (built without torch)");
}

std::string cpu_name() { return value_in("/proc/cpuinfo", "model name"); }

void add_host_facts(Report& report) {
  utsname system{};
  ::uname(&system);
  struct sysinfo info {};
  ::sysinfo(&info);
  const int64_t total = static_cast<int64_t>(info.totalram) * info.mem_unit;
  std::vector<std::string> interfaces;
  for (const cluster::Interface& interface : cluster::local_interfaces()) {
    interfaces.push_back(format("{} {}", interface.name, interface.address));
  }
  report.section("host")
      .add("name", cluster::host_name())
      .add("system", format("{} {} {}", system.sysname, system.release, system.machine))
      .add("cpu", cpu_name())
      .add("usable cores", usable_cores())
      .add("memory bytes", total,
           format("{} ({} available)", format_bytes(total), format_bytes(available_bytes())))
      .add("interfaces", interfaces);
}

void add_job_facts(Report& report,
                   const cluster::Membership& me,
                   const cluster::Environment& environment,
                   const std::optional<std::string>& interface) {
  Report::Section& job = report.section("job");
  job.add("launcher", me.launcher)
      .add("scheduler", me.scheduler)
      .add("ranks", me.world_size)
      .add("nodes", me.num_nodes)
      .add(
          "this rank", me.rank,
          format("{} (local {} of {} on node {})", me.rank, me.local_rank, me.local_size, me.node));
  if (!me.hosts.empty()) job.add("hosts", me.hosts);
  job.add("listens on", listen_address(me, environment, interface))
      .add("launch command", cluster::suggested_launch_command(me));
}

}  // namespace shoal::app
