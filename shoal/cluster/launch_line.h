// launch_line.h -- the command lines that start one launcher on each host of a job.
//
//   srun_line(environment, 2, {"shoal", "launch", "--ranks", "4", "--", "doctor"});
//   // srun --nodes=2 --ntasks=2 --ntasks-per-node=1 ... shoal launch --ranks 4 -- doctor
//   shell_text({"echo", "two words"});   // echo 'two words'
//
// Each launcher learns the number of its host from the variables of what started it (membership.h),
// or, over ssh, from its options.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/environment.h"

namespace shoal::cluster {

using Words = std::vector<std::string>;

// Returns the words as a shell reads them.
std::string shell_text(const Words& words);

// srun gives the launcher all CPUs and GPUs of its node, and lets the others end by themselves for a
// minute when one has ended: they restart, or say what they have seen.
Words srun_line(const Environment& environment, int hosts, const Words& launcher);

enum class Mpiexec { kPals, kHydra, kOpenMpi };

// Returns which one `mpiexec --version` has printed about; throws UsageError when it is none of them.
Mpiexec mpiexec_of(const std::string& version);
Words mpiexec_line(Mpiexec kind, int hosts, const Words& launcher);

// The launcher runs in `directory`. SHOAL_SSH is the command instead of `ssh`, split at blanks.
Words ssh_line(const Environment& environment,
               const std::string& host,
               const std::string& directory,
               const Words& launcher);

}  // namespace shoal::cluster
