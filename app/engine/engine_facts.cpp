#include "app/engine/engine_facts.h"

#include <iostream>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/headeronly/version.h>

#include "shoal/comm/backends.h"
#include "shoal/config/value.h"
#include "shoal/core/format.h"

namespace shoal::app {
namespace {

// "n1 x2, n2" for the hosts of the ranks, in rank order
std::string counted(const std::vector<std::string>& hosts) {
  std::string text;
  for (size_t i = 0; i < hosts.size();) {
    size_t end = i;
    while (end < hosts.size() && hosts[end] == hosts[i]) ++end;
    text += (text.empty() ? "" : ", ") + hosts[i] + (end - i > 1 ? format(" x{}", end - i) : "");
    i = end;
  }
  return text;
}

}  // namespace

void add_engine_facts(Report& report) {
  Report::Section& engine = report.section("engine");
  engine.add("libtorch", TORCH_VERSION)
      .add("device", at::hasCUDA() ? "cuda" : "cpu")
      .add("threads per rank", at::get_num_threads())
      .add("vector unit", at::get_cpu_capability());
  for (const comm::BackendStatus& status : comm::backend_table()) {
    const std::string name = config::write_value(status.backend);
    engine.add(name, Report::Named{{"usable", status.usable}, {"about", status.text}},
               format("{}: {}", status.usable ? "yes" : "no", status.text));
  }
}

int print_engine_version(const std::vector<std::string>& /*arguments*/) {
  std::cout << format("engine: libtorch {} on {}\nbackends:", TORCH_VERSION,
                      at::hasCUDA() ? "CUDA" : "CPUs");
  const char* separator = " ";
  for (const comm::BackendStatus& status : comm::backend_table()) {
    if (!status.usable) continue;
    std::cout << separator << config::write_value(status.backend);
    separator = ", ";
  }
  std::cout << "\n";
  return 0;
}

void add_world_facts(Report& report, comm::World& world) {
  const std::vector<std::string> hosts = world.hosts();
  Report::Section& section = report.section("world");
  section.add("backend", world.backend()).add("ranks on hosts", hosts, counted(hosts));
  if (!world.store_endpoint().empty()) section.add("store", world.store_endpoint());
}

}  // namespace shoal::app
