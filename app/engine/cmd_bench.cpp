#include "app/engine/cmd_bench.h"

#include "app/arguments.h"
#include "app/engine/bench_comm.h"
#include "app/engine/bench_device.h"

namespace shoal::app {
namespace {

constexpr const char* kSaveHelp =
    "write what was measured into this cluster file, for shoal plan --cluster; a file that is "
    "there "
    "keeps its other fields";

void add_device_options(Arguments& command, DeviceBenchOptions& options) {
  command.option("--save", options.save, kSaveHelp, {.shown = "FILE"});
  command.option("--seconds", options.seconds, "to measure, about; 40 without this",
                 {.shown = "N", .range = {{1, 3600}}});
  command.option("--set", options.sets, "change one key of the config, such as train.threads",
                 {.shown = "KEY=VALUE"});
}

}  // namespace

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
  comm_command.option("--save", comm.save, kSaveHelp, {.shown = "FILE"});
  comm_command.flag("--json", comm.json, "as JSON");
  DeviceBenchOptions device;
  Arguments gemm = command.subcommand(
      "gemm",
      "products and attention of the model in fp32 and bf16, forward and backward\n\n"
      "  shoal bench gemm --save cluster.yaml                          a rank with all cores\n"
      "  shoal launch --ranks 2 -- bench gemm --save cluster.yaml      while another one computes",
      [&] { run_gemm_bench(device); });
  add_device_options(gemm, device);
  Arguments memory = command.subcommand(
      "memory",
      "copies, the optimizer, and what blocks do beside products and attention\n\n"
      "  shoal launch --ranks 2 -- bench memory --save cluster.yaml",
      [&] { run_memory_bench(device); });
  add_device_options(memory, device);
  command.footer(
      "shoal bench tokenizer and shoal bench loader, which need no engine, have a help of their "
      "own.");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
