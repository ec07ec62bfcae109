// mlp -- one step of a small MLP on several ranks, in the way that is named; README.md has the list.
//
//   shoal launch --ranks 2 -- build/release/examples/mlp tensor

#include <exception>
#include <iostream>
#include <map>
#include <numeric>
#include <string>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"

#include "programs.h"

int main(int argc, char** argv) try {
  const std::map<std::string, decltype(&mlp::ddp)> programs = {
      {"ddp", mlp::ddp},       {"model_parallel", mlp::model_parallel},
      {"fsdp", mlp::fsdp},     {"pipeline", mlp::pipeline},
      {"tensor", mlp::tensor},
  };
  const auto chosen = programs.find(argc == 2 ? argv[1] : "");
  if (chosen == programs.end()) {
    std::cerr << "usage: mlp ddp|model_parallel|pipeline|tensor|fsdp\n";
    return 2;
  }
  const auto environment = shoal::cluster::Environment::of_this_process();
  const auto world =
      shoal::comm::World::join(shoal::cluster::detect_membership(environment), environment,
                               {.device = shoal::config::DeviceKind::kCpu});
  bool agrees = false;
  {
    std::vector<int> everyone(world->size());
    std::iota(everyone.begin(), everyone.end(), 0);
    const shoal::comm::Group ranks = world->group("everyone", everyone);
    world->close_doors();
    agrees = chosen->second(*world, ranks);
  }
  world->leave();
  return agrees ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "mlp: " << e.what() << "\n";
  return 1;
}
