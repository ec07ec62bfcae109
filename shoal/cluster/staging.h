// staging.h -- a copy of the installed program on a host's own disk, so that a thousand hosts do not read
// a gigabyte of libraries from one file system.
//
//   const Staging staging = staging_of("/opt/shoal/bin/shoal", "/local");
//   staging.directory;                          // /local/shoal-6f1c0a...: named after the content
//   staging.under_slurm(environment, 1000);     // a script for /bin/sh that makes the copies
//
// A script does nothing where the copy is there already and has the content of its name, and renames a
// copy only when it is complete. A copy that is damaged is replaced.
// Whoever else may write to the parent directory cannot put a program of his own there: a directory of
// another user is refused.
#pragma once

#include <filesystem>
#include <string>

#include "shoal/cluster/environment.h"

namespace shoal::cluster {

struct Staging {
  std::filesystem::path prefix;     // where it is installed
  std::filesystem::path directory;  // where its copy will be

  [[nodiscard]] std::filesystem::path program() const { return directory / "bin/shoal"; }

  // Copies for this host, which sees the prefix.
  [[nodiscard]] std::string here() const;
  // The nodes of the job pass one archive on from node to node: sbcast.
  [[nodiscard]] std::string under_slurm(const Environment& environment, int hosts) const;
  // This host sends the archive to that one.
  [[nodiscard]] std::string over_ssh(const Environment& environment, const std::string& host) const;
};

// Throws UsageError when `program` does not stand in an installed tree (bin, lib/shoal), or `parent` is
// not an absolute path. Reads every file of the tree.
Staging staging_of(const std::filesystem::path& program, const std::filesystem::path& parent);

}  // namespace shoal::cluster
