#include "shoal/cluster/descriptors.h"

#include <cstdlib>

#include <sys/resource.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

constexpr size_t kForEverythingElse = 256;  // files, pipes, libraries

}  // namespace

void need_descriptors(size_t count, std::string_view what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= count + kForEverythingElse) return;
  throw UsageError(
      format("{} needs {} open files, but this process may open {}: raise the hard limit "
             "(ulimit -Hn, or LimitNOFILE of the scheduler's daemon)",
             what, count + kForEverythingElse, limit.rlim_cur));
}

std::optional<int> inherited_descriptor(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::optional<int> fd = number_in<int>(text);
  return fd && *fd > STDERR_FILENO ? fd : std::nullopt;
}

}  // namespace shoal::cluster
