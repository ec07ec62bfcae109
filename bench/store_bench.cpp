// store_bench -- round trips through the job's store, one client and the server's thread on one
// host.
//
//   store_bench --trips 20000 --bytes 64
//
// Two builds beside each other: paired --a "build/release/store_bench" --b "OTHER/store_bench"

#include <iostream>

#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_server.h"
#include "shoal/core/error.h"

#include "app/arguments.h"

int main(int argc, char** argv) {
  using namespace shoal::cluster;  // NOLINT(google-build-using-namespace)
  int trips = 20'000;
  int bytes = 64;
  try {
    shoal::app::Arguments command("store_bench", "Sets and gets one key, time after time.");
    command.option("--trips", trips, "pairs of a set and a get",
                   {.shown = "N", .range = {{1, 100'000'000}}});
    command.option("--bytes", bytes, "size of the value",
                   {.shown = "N", .range = {{0, StoreLimits{}.max_value_bytes}}});
    if (!command.parse({argv + 1, argv + argc})) return 0;
    const Secret secret = Secret::random();
    const StoreServer server({.address = "127.0.0.1", .ports = {0}, .secret = secret});
    StoreClient store =
        StoreClient::connect({{server.endpoint()}, secret}, std::chrono::seconds(10));
    const std::string value(static_cast<size_t>(bytes), 'v');
    const shoal::Clock::time_point began = shoal::Clock::now();
    for (int i = 0; i < trips; ++i) {
      store.set("key", value);
      if (store.get("key", std::chrono::seconds(10)).size() != value.size()) return 1;
    }
    const double seconds =
        std::chrono::duration<double>(shoal::Clock::now() - began).count() / (2.0 * trips);
    std::cout << shoal::format("{} bytes: {:.2f} us for a round trip\n", bytes, seconds * 1e6);
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
