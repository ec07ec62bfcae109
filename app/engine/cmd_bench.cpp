#include "app/engine/cmd_bench.h"

#include "app/arguments.h"
#include "app/engine/bench_comm.h"

namespace shoal::app {

int run_bench(const std::vector<std::string>& arguments) {
  CommBenchOptions comm;
  Arguments command("shoal bench",
                    "Measured ceilings, and how close shoal gets. Ends with lines NAME VALUE.");
  Arguments comm_command = command.subcommand(
      "comm",
      "latency and bandwidth of each collective, beside a memory copy and the bare c10d call\n\n"
      "  shoal launch --ranks 2 -- bench comm --op all_gather --size \"64 MiB\"",
      [&] { run_comm_bench(comm); });
  comm_command.option("--op", comm.ops, comm_op_help(), {.shown = "NAME"});
  comm_command.option("--size", comm.sizes, "bytes of the full side; repeat for several",
                      {.shown = "SIZE"});
  comm_command.option("--type", comm.type, "float32, bfloat16 or float64", {.shown = "TYPE"});
  comm_command.option("--rounds", comm.rounds, "alternations of the two sides",
                      {.shown = "N", .range = {{21, 10001}}});
  comm_command.option("--set", comm.sets, "change one key of the config", {.shown = "KEY=VALUE"});
  comm_command.flag("--json", comm.json, "as JSON");
  command.footer("shoal bench tokenizer, which needs no engine, has a help of its own.");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
