#include "shoal/cluster/staging.h"

#include <algorithm>

#include "shoal/cluster/launch_line.h"
#include "shoal/core/digest.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunkBytes = 4 << 20;
constexpr size_t kDigits = 32;
constexpr const char* kParts[] = {"bin/shoal", "libexec/shoal", "lib/shoal", "share/shoal"};

std::vector<fs::path> files_below(const fs::path& prefix) {
  std::vector<fs::path> files;
  for (const char* part : kParts) {
    const fs::path path = prefix / part;
    if (fs::is_regular_file(path)) files.push_back(path);
    if (!fs::is_directory(path)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_symlink() || entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string digest_of_file(const fs::path& file) {
  Sha256 digest;
  ChunkReader reader(file);
  for (std::string chunk = reader.next(kChunkBytes); !chunk.empty();
       chunk = reader.next(kChunkBytes))
    digest.add(chunk);
  return digest.hex();
}

// A hash of a line for each file, each that is a program, and each link: a shell makes the same of a
// copy, see digest_in_shell().
std::string digest_of(const fs::path& prefix) {
  std::vector<std::string> lines;
  for (const fs::path& file : files_below(prefix)) {
    const std::string name = file.lexically_relative(prefix).string();
    if (name.find_first_of("\\\n\r") != std::string::npos)
      throw UsageError(format("--stage: the name of {} has a backslash or a line break", name));
    if (fs::is_symlink(file)) {
      lines.push_back(format("link {} {}", name, fs::read_symlink(file).string()));
      continue;
    }
    lines.push_back(format("{}  {}", digest_of_file(file), name));
    if ((fs::status(file).permissions() & fs::perms::owner_exec) != fs::perms::none)
      lines.push_back("program " + name);
  }
  std::sort(lines.begin(), lines.end());
  Sha256 digest;
  for (const std::string& line : lines) digest.add(line + "\n");
  return digest.hex().substr(0, kDigits);
}

// Prints the digest of the tree in the current directory.
std::string digest_in_shell() {
  Words parts;
  for (const char* part : kParts) parts.emplace_back(part);
  const std::string find = "find " + shell_text(parts);
  return format(
      "{{ {0} -type f -exec sha256sum {{}} +; {0} -type f -perm -u=x -printf 'program %p\\n'; "
      "{0} -type l -printf 'link %p %l\\n'; }} 2>/dev/null | LC_ALL=C sort | sha256sum | cut -c "
      "1-{1}",
      find, kDigits);
}

// Writes the tree to standard output.
std::string pack(const Staging& staging) {
  Words words = {"tar", "-C", staging.prefix.string(), "--mode=u=rwX,g=rX,o=", "-cf", "-"};
  for (const char* part : kParts) {
    if (fs::exists(staging.prefix / part)) words.emplace_back(part);
  }
  return shell_text(words);
}

std::string is_ours(const Staging& staging) {
  return format("[ -d {0} ] && [ ! -L {0} ] && [ -O {0} ]",
                shell_text({staging.directory.string()}));
}

// Succeeds where the copy is there and has the content that its name says.
std::string is_whole(const Staging& staging) {
  const std::string name = staging.directory.filename().string();
  return format("{} && [ \"$(cd {} && {})\" = {} ]", is_ours(staging),
                shell_text({staging.directory.string()}), digest_in_shell(),
                shell_text({name.substr(name.rfind('-') + 1)}));
}

// The same, and makes its parent directory.
std::string look(const Staging& staging) {
  return format("umask 027; mkdir -p {} && {}",
                shell_text({staging.directory.parent_path().string()}), is_whole(staging));
}

// Reads the tree from standard input. A copy that is damaged goes out of the way first.
std::string unpack(const Staging& staging) {
  return format(
      "{0} || {{ new=$(mktemp -d {1}.XXXXXX) && chmod 0750 \"$new\" && tar -C \"$new\" -xpf - && "
      "{{ ! {{ {2}; }} || {{ {3}; }} || mv -T {1} \"$new.damaged\"; }} && "
      "mv -T \"$new\" {1} 2>/dev/null || rm -rf \"$new\"; rm -rf \"$new.damaged\"; }}; {3} || "
      "{{ echo cannot make {1} on \"$(hostname)\" >&2; exit 2; }}",
      look(staging), shell_text({staging.directory.string()}), is_ours(staging), is_whole(staging));
}

}  // namespace

std::string Staging::here() const {
  return format("{} | {}", pack(*this), shell_text({"/bin/sh", "-c", unpack(*this)}));
}

std::string Staging::under_slurm(const Environment& environment, int hosts) const {
  const auto on_each = [&](const std::string& script) {
    return shell_text(srun_line(environment, hosts, {"/bin/sh", "-c", script}));
  };
  const std::string name = shell_text({directory.string()});
  const std::string whole = is_whole(*this);
  // Nobody can guess the archive's name, which mktemp has made, and put a file of his own there. Nodes that
  // share the disk have one archive: whoever comes late finds the copy, and no archive.
  return format(
      "{0} 2>/dev/null && exit 0; set -e; file=$(mktemp); trap 'rm -f \"$file\"' EXIT; "
      "{1} >\"$file\"; archive={2}.\"${{file##*.}}\".tar; sbcast --force \"$file\" \"$archive\"; "
      "{3} sh \"$archive\"",
      on_each(look(*this)), pack(*this), name,
      on_each(format("{{ {0}; }} || ({1}) <\"$1\"; rm -f \"$1\"; {0}", whole, unpack(*this))));
}

std::string Staging::over_ssh(const Environment& environment, const std::string& host) const {
  return format("{} | {}", pack(*this),
                shell_text(ssh_line(environment, host, "/", {"/bin/sh", "-c", unpack(*this)})));
}

Staging staging_of(const fs::path& program, const fs::path& parent) {
  const fs::path prefix = program.parent_path().parent_path();
  if (program != prefix / "bin/shoal" || !fs::is_directory(prefix / "lib/shoal"))
    throw UsageError(format(
        "--stage copies an installed tree with bin/shoal and lib/shoal, but {} does not stand "
        "in one: use `cmake --install` or the package",
        program.string()));
  if (!parent.is_absolute())
    throw UsageError(
        format("--stage is '{}', but must be an absolute path, of a disk that every "
               "host has for itself",
               parent.string()));
  return {prefix, parent / ("shoal-" + digest_of(prefix))};
}

}  // namespace shoal::cluster
