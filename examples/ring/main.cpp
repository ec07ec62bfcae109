// ring -- the smallest program on shoal's communication: every rank hands a number to its right
// neighbour, then all of them add up what they hold.
//
//   shoal launch --ranks 4 -- build/release/examples/ring

#include <exception>
#include <iostream>
#include <numeric>

#include <ATen/ATen.h>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"

int main() try {
  using shoal::comm::Group;

  const auto environment = shoal::cluster::Environment::of_this_process();
  const auto me = shoal::cluster::detect_membership(environment);
  const auto world = shoal::comm::World::join(me, environment, {});
  {
    std::vector<int> everyone(world->size());
    std::iota(everyone.begin(), everyone.end(), 0);
    Group group = world->group("everyone", everyone);
    world->close_doors();  // no more groups: from here on nobody else can connect

    at::Tensor mine = at::full({1}, me.rank, at::kLong);
    at::Tensor received = mine.clone();
    if (group.size() > 1) {
      const int right = (group.rank() + 1) % group.size();
      const int left = (group.rank() + group.size() - 1) % group.size();
      // Both at once: a send may complete only when it is received.
      using Way = Group::Transfer::Way;
      group.exchange({{Way::kRecv, received, left, 0}, {Way::kSend, mine, right, 0}}, "ring")
          .wait();
    }
    group.all_reduce(received, shoal::comm::Reduce::kSum, "sum of the ring").wait();
    if (me.rank == 0) {
      std::cout << group.size() << " ranks on " << group.backend() << ", sum "
                << received.item<int64_t>() << "\n";
    }
  }
  world->leave();
  return 0;
} catch (const shoal::Error& error) {
  std::cerr << "ring: " << error.what() << "\n";
  return static_cast<int>(error.exit_code());
}
