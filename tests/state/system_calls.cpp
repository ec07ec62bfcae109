#include "tests/state/system_calls.h"

#include <csignal>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shoal::tests {
namespace {

struct State {
  bool watching = false;
  Watch watch;
  std::vector<std::string> seen;
};

State& state() {
  static State one;
  return one;
}

std::string name_of(int fd) {
  char target[4096];
  const ssize_t size =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  return size <= 0 ? "?" : std::filesystem::path(std::string(target, size)).filename().string();
}

std::string name_of(const char* path) { return std::filesystem::path(path).filename().string(); }

enum class Fate { kGoOn, kFail, kDie };

Fate fate_of(const std::string& call) {
  State& now = state();
  if (!now.watching) return Fate::kGoOn;
  const size_t index = now.seen.size();
  now.seen.push_back(call);
  if (index != now.watch.at) return Fate::kGoOn;
  if (now.watch.then == Then::kDie) return Fate::kDie;
  if (now.watch.then != Then::kFail) return Fate::kGoOn;
  errno = now.watch.error;
  return Fate::kFail;
}

// The call, unless it is the one that was chosen.
template <class Call>
long obey(const std::string& name, Call call) {
  const Fate fate = fate_of(name);
  if (fate == Fate::kDie) ::kill(::getpid(), SIGKILL);
  return fate == Fate::kFail ? -1 : call();
}

}  // namespace

void watch_system_calls(const Watch& watch) { state() = {true, watch, {}}; }

std::vector<std::string> stop_watching() {
  state().watching = false;
  return state().seen;
}

}  // namespace shoal::tests

using namespace shoal::tests;  // NOLINT(google-build-using-namespace)

extern "C" {

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  const Fate fate = fate_of("write " + name_of(fd));
  if (fate == Fate::kFail) return -1;
  const ssize_t done = ::syscall(SYS_pwrite64, fd, bytes, fate == Fate::kDie ? size / 2 : size, at);
  if (fate == Fate::kDie) ::kill(::getpid(), SIGKILL);
  return done;
}

int fdatasync(int fd) {
  return static_cast<int>(
      obey("sync " + name_of(fd), [&] { return ::syscall(SYS_fdatasync, fd); }));
}

int fsync(int fd) {
  return static_cast<int>(obey("sync " + name_of(fd), [&] { return ::syscall(SYS_fsync, fd); }));
}

int mkdir(const char* path, mode_t mode) noexcept {
  return static_cast<int>(
      obey("make " + name_of(path), [&] { return ::syscall(SYS_mkdir, path, mode); }));
}

int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(obey("rename " + name_of(from) + " " + name_of(to),
                               [&] { return ::syscall(SYS_rename, from, to); }));
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) noexcept {
  if (state().watching && !state().watch.can_exchange) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(obey("exchange " + name_of(from) + " " + name_of(to), [&] {
    return ::syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
  }));
}

int unlinkat(int fd, const char* path, int flags) noexcept {
  State& now = state();  // removing does not fail here: that would only leave a leftover
  if (now.watching && now.watch.then != Then::kFail) {
    const long done = obey(std::string("remove ") + path,
                           [&] { return ::syscall(SYS_unlinkat, fd, path, flags); });
    return static_cast<int>(done);
  }
  return static_cast<int>(::syscall(SYS_unlinkat, fd, path, flags));
}
}
