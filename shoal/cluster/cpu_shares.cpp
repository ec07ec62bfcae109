#include "shoal/cluster/cpu_shares.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include <sched.h>

#include "shoal/core/even_parts.h"
#include "shoal/core/format.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

int number_of_file(const fs::path& path) {
  int number = 0;
  std::ifstream(path) >> number;
  return number;
}

// A CPU's directory has a link to its node, called node0, node1, ...
int numa_node_of(const fs::path& cpu) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(cpu, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    if (const auto node = number_in<int>(std::string_view(name).substr(4)); node && *node >= 0)
      return *node;
  }
  return 0;
}

}  // namespace

std::vector<Cpu> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<Cpu> cpus;
  // Fails on a host with more than 1,024 CPUs, where ranks are then not bound.
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(static_cast<size_t>(number), &set)) continue;
    const fs::path directory = format("/sys/devices/system/cpu/cpu{}", number);
    constexpr int kMostCoresOfPackage = 1 << 16;
    const int core =
        number_of_file(directory / "topology/physical_package_id") * kMostCoresOfPackage +
        number_of_file(directory / "topology/core_id");
    cpus.push_back({number, numa_node_of(directory), core});
  }
  return cpus;
}

std::vector<std::vector<int>> cpu_shares(std::vector<Cpu> cpus, int ranks) {
  if (ranks < 1 || cpus.size() / static_cast<size_t>(ranks) < 2) return {};
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tie(a.numa_node, a.core, a.number) < std::tie(b.numa_node, b.core, b.number);
  });
  std::vector<std::vector<int>> shares(static_cast<size_t>(ranks));
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    const size_t begin = even_part_begin(cpus.size(), rank, shares.size());
    const size_t end = even_part_begin(cpus.size(), rank + 1, shares.size());
    for (size_t i = begin; i < end; ++i) shares[rank].push_back(cpus[i].number);
    std::sort(shares[rank].begin(), shares[rank].end());
  }
  return shares;
}

}  // namespace shoal::cluster
