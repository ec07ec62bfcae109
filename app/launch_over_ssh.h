// launch_over_ssh.h -- a launcher on each of several hosts, started over ssh and watched from here.
//
// Standard input of a launcher on another host is its tie to this one. It begins with variables of the
// environment, the job's secret among them: nothing of that stands on a command line, where every user
// of a host could read it. Then a byte is a signal, and the end means that this launcher is gone: the
// ranks are stopped then, so none is left behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/environment.h"
#include "shoal/cluster/launch_line.h"
#include "shoal/core/quantities.h"

namespace shoal::app {

struct OverSsh {
  std::vector<std::string> hosts;      // as ssh knows them
  std::optional<std::string> address;  // of the first, for the others; default: its name
  cluster::Words launcher;             // `shoal launch` and its options, without the place
  cluster::Words command;              // what follows --
  Duration grace = std::chrono::seconds(30);
  // A host that cannot be reached any more is left out while so many remain: the job is started again
  // on them. Absent: the job has failed.
  std::optional<int> min_hosts = std::nullopt;
};

// Returns the job's exit code. Says on standard error which host failed first, and which is left out.
int launch_over_ssh(const OverSsh& job, const cluster::Environment& environment);

int print_over_ssh(const OverSsh& job, const cluster::Environment& environment);

// The other end: puts the variables that standard input begins with into the environment, and returns
// a descriptor for the rest of it. Ranks get an empty standard input. Throws UsageError when there is
// something else.
int receive_variables();

}  // namespace shoal::app
