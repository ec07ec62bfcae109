// What libraries of a package need and a glibc before 2.36 does not have, so that one package runs on more systems.
// cmake/Package.cmake lets the packaged libstdc++ load without it; the loader finds this definition first on all of them.

#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
