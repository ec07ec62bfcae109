#include "shoal/cluster/launch_line.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_./:=,@+%").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// srun reads these as if they were its options: they describe tasks that are ranks, and would leave
// the launcher with the share of one.
constexpr const char* kPerTask[] = {"SLURM_CPUS_PER_TASK",   "SRUN_CPUS_PER_TASK",
                                    "SLURM_GPUS_PER_TASK",   "SLURM_TRES_PER_TASK",
                                    "SLURM_NTASKS_PER_GPU",  "SLURM_GPU_BIND",
                                    "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_SOCKET"};

}  // namespace

std::string shell_text(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

Words srun_line(const Environment& environment, int hosts, const Words& launcher) {
  Words line;
  for (const char* variable : kPerTask) {
    if (!environment.has(variable)) continue;
    if (line.empty()) line = {"env"};
    line.insert(line.end(), {"-u", variable});
  }
  line.insert(line.end(), {"srun", format("--nodes={}", hosts), format("--ntasks={}", hosts),
                           "--ntasks-per-node=1", "--cpu-bind=none", "--mpi=none",
                           "--kill-on-bad-exit=0", "--wait=60"});
  return joined(std::move(line), launcher);
}

Mpiexec mpiexec_of(const std::string& version) {
  const auto says = [&](const char* text) { return version.find(text) != std::string::npos; };
  if (says("HYDRA") || says("Intel(R) MPI")) return Mpiexec::kHydra;
  if (says("OpenRTE") || says("Open MPI") || says("PRRTE")) return Mpiexec::kOpenMpi;
  if (says("mpiexec version") || says("PALS")) return Mpiexec::kPals;
  throw UsageError(
      "`mpiexec --version` is none of PALS, MPICH, Intel MPI and Open MPI: load one of them, or "
      "start `shoal launch --ranks R` once on each host with a launcher that you know");
}

Words mpiexec_line(Mpiexec kind, int hosts, const Words& launcher) {
  Words line = {"mpiexec", "-n", std::to_string(hosts)};
  switch (kind) {
    case Mpiexec::kPals:
      return joined(joined(line, {"--ppn", "1", "--cpu-bind", "none"}), launcher);
    case Mpiexec::kHydra:
      return joined(joined(line, {"-ppn", "1"}), launcher);
    case Mpiexec::kOpenMpi:
      return joined(joined(line, {"--map-by", "ppr:1:node", "--bind-to", "none"}), launcher);
  }
  SHOAL_CHECK(false, "a kind of mpiexec without a line");
}

Words ssh_line(const Environment& environment,
               const std::string& host,
               const std::string& directory,
               const Words& launcher) {
  std::istringstream command(environment.get_or("SHOAL_SSH", "ssh"));
  Words line;
  for (std::string word; command >> word;) line.push_back(word);
  // A host that has lost its power is noticed after 45 s, whether it was reached before or not.
  return joined(
      std::move(line),
      {"-o", "BatchMode=yes", "-o", "ConnectTimeout=45", "-o", "ServerAliveInterval=15", "-T", "--",
       host, format("cd {} && exec {}", quoted(directory), shell_text(launcher))});
}

}  // namespace shoal::cluster
