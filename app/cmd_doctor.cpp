#include "app/cmd_doctor.h"

#include <iostream>

#include "shoal/config/load.h"

#include "app/arguments.h"
#include "app/host_facts.h"
#include "app/sibling_process.h"

namespace shoal::app {

std::optional<DoctorOptions> parse_doctor(const std::vector<std::string>& arguments) {
  DoctorOptions options;
  Arguments command(
      "shoal doctor",
      "What this build, host and job can do. Under a launcher, also a proof: the ranks train a\n"
      "small network together and compare it with one rank's result.\n\n"
      "  shoal doctor --brief\n"
      "  shoal launch --ranks 2 -- doctor\n"
      "  srun --nodes=2 shoal doctor run.yaml\n");
  command.option("config", options.file, "a config whose comm and parallel sections to use",
                 {.shown = "CONFIG"});
  command.option("--set", options.sets, "change one key of it", {.shown = "KEY=VALUE"});
  command.flag("--brief", options.brief, "only what is known without starting the engine");
  command.flag("--json", options.json, "as JSON");
  if (!command.parse(arguments)) return std::nullopt;
  return options;
}

int run_doctor(const std::vector<std::string>& arguments) {
  const std::optional<DoctorOptions> options = parse_doctor(arguments);
  if (!options) return 0;
  if (!options->brief && find_sibling(Sibling::kEngine))
    become(Sibling::kEngine, "doctor", arguments);
  const config::RunConfig config =
      config::load_or_throw({.file = options->file, .sets = options->sets});
  const auto environment = cluster::Environment::of_this_process();
  const cluster::Membership me = cluster::detect_membership(environment);
  Report report;
  add_build_facts(report);
  add_host_facts(report);
  add_job_facts(report, me, environment, config.comm.interface);
  if (me.rank == 0) std::cout << (options->json ? report.json() : report.text());
  return 0;
}

}  // namespace shoal::app
