// store_bench -- round trips through the job's store, one client and the server's thread on one
// host, and the MACs of a message.
//
//   store_bench --trips 20000 --bytes 64
//
// Two builds beside each other: paired --a "build/release/store_bench" --b "OTHER/store_bench"

#include <functional>
#include <iostream>

#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_server.h"
#include "shoal/core/error.h"

#include "app/arguments.h"

namespace {

// Returns the mean time of a call.
double microseconds(int calls, const std::function<void()>& call) {
  const shoal::Clock::time_point began = shoal::Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::micro>(shoal::Clock::now() - began).count() / calls;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace shoal::cluster;  // NOLINT(google-build-using-namespace)
  int trips = 20'000;
  int bytes = 64;
  bool macs = false;
  try {
    shoal::app::Arguments command("store_bench", "Sets and gets one key, time after time.");
    command.option("--trips", trips, "pairs of a set and a get",
                   {.shown = "N", .range = {{1, 100'000'000}}});
    command.option("--bytes", bytes, "size of the value",
                   {.shown = "N", .range = {{0, StoreLimits{}.max_value_bytes}}});
    command.flag("--macs", macs, "time the MACs of such a value instead, without a store");
    if (!command.parse({argv + 1, argv + argc})) return 0;
    const Secret secret = Secret::random();
    const std::string value(static_cast<size_t>(bytes), 'v');
    if (macs) {
      std::cout << shoal::format("{} bytes: HMAC-SHA-256 {:.2f} us, keyed BLAKE2b {:.2f} us\n",
                                 bytes, microseconds(trips, [&] { (void)secret.mac({value}); }),
                                 microseconds(trips, [&] { (void)secret.fast_mac({value}); }));
      return 0;
    }
    const StoreServer server({.address = "127.0.0.1", .ports = {0}, .secret = secret});
    StoreClient store =
        StoreClient::connect({{server.endpoint()}, secret}, std::chrono::seconds(10));
    const double pair = microseconds(trips, [&] {
      store.set("key", value);
      store.get("key", std::chrono::seconds(10));
    });
    std::cout << shoal::format("{} bytes: {:.2f} us for a round trip\n", bytes, pair / 2);
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
