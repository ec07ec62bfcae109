#include "app/engine/cmd_bench.h"

#include "app/arguments.h"
#include "app/engine/bench_comm.h"

namespace shoal::app {

int run_bench(const std::vector<std::string>& arguments) {
  CommBenchOptions comm;
  CLI::App app("Measured ceilings, and how close shoal gets. Ends with lines NAME VALUE.", "shoal bench");
  app.require_subcommand(1);
  CLI::App* comm_command = app.add_subcommand(
      "comm",
      "latency and bandwidth of each collective, beside a memory copy and the bare c10d call\n\n"
      "  shoal launch --ranks 2 -- bench comm --op all_gather --op reduce_scatter --size \"64 MiB\"");
  comm_command->add_option("--op", comm.ops, "only these collectives; repeat for several")->type_name("NAME")->allow_extra_args(false);
  comm_command->add_option("--size", comm.sizes, "bytes of the full side; repeat for several")->type_name("SIZE")->allow_extra_args(false);
  comm_command->add_option("--type", comm.type, "float32, bfloat16 or float64")->type_name("TYPE");
  comm_command->add_option("--rounds", comm.rounds, "alternations of the two sides")->type_name("N")->check(CLI::Range(21, 10001));
  comm_command->add_option("--set", comm.sets, "change one key of the config")->type_name("KEY=VALUE")->allow_extra_args(false);
  comm_command->add_flag("--json", comm.json, "as JSON");
  if (!parse(app, arguments)) return 0;
  return run_comm_bench(comm);
}

}  // namespace shoal::app
