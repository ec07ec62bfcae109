#include "shoal/core/stack.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "shoal/core/format.h"
#include "shoal/core/process_stat.h"

namespace shoal {
namespace {

constexpr size_t kMostFrames = 64;

// Debuggers and MPI libraries use the low ones.
int signal_number() { return SIGRTMAX - 5; }

// What a handler fills. A handler has no arguments of ours, so this is the one place it can reach.
struct Capture {
  std::atomic<pid_t> wanted{0};
  std::atomic<bool> done{false};
  int count = 0;
  std::array<void*, kMostFrames> frames{};
  void* interrupted = nullptr;  // the place in the thread's own code
};

Capture& capture() {
  static Capture only;
  return only;
}

void* place_in(const ucontext_t& context) {
#if defined(__x86_64__)
  return std::bit_cast<void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return std::bit_cast<void*>(context.uc_mcontext.pc);
#else
  return nullptr;
#endif
}

void walk_own_stack(int /*number*/, siginfo_t* /*info*/, void* context) {
  const int error = errno;
  Capture& into = capture();
  pid_t me = static_cast<pid_t>(::syscall(SYS_gettid));
  if (into.wanted.compare_exchange_strong(me, 0)) {
    into.count = ::backtrace(into.frames.data(), static_cast<int>(into.frames.size()));
    into.interrupted = place_in(*static_cast<const ucontext_t*>(context));
    into.done = true;
  }
  errno = error;
}

// "shoal::data::Loader::fill" of "shoal::data::Loader::fill(shoal::data::Slot&, unsigned long) const"
std::string without_parameters(const std::string& name) {
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0 && i > 0 && name.compare(i, 11, "(anonymous ") != 0)
      return name.substr(0, i);
  }
  return name;
}

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 ? without_parameters(name.get()) : symbol;
}

std::string described(void* address) {
  Dl_info found{};
  if (::dladdr(address, &found) == 0 || found.dli_fname == nullptr)
    return format("{:#x}", reinterpret_cast<uintptr_t>(address));
  std::string library = found.dli_fname;
  library = library.substr(library.rfind('/') + 1);
  if (found.dli_sname != nullptr) return format("{} ({})", demangled(found.dli_sname), library);
  const auto offset = static_cast<char*>(address) - static_cast<char*>(found.dli_fbase);
  return format("{}+{:#x}", library, offset);
}

std::string state_in_words(pid_t tid) {
  const std::optional<ProcessStat> stat = thread_stat(tid);
  if (!stat) return "has ended";
  switch (stat->state) {
    case 'R':
      return "runs";
    case 'S':
      return "sleeps";
    case 'D':
      return "is in the kernel, which does not let it go: a file system or a device hangs";
    case 'T':
    case 't':
      return "is suspended";
    default:
      return format("is in state {}", stat->state);
  }
}

void listen_for_signal() {
  struct sigaction action {};
  action.sa_sigaction = walk_own_stack;
  action.sa_flags = SA_SIGINFO | SA_RESTART;  // what the thread waits in goes on afterwards
  ::sigaction(signal_number(), &action, nullptr);
  std::array<void*, 1> first{};
  ::backtrace(first.data(), 1);  // loads its library now: a handler must not
}

}  // namespace

ThreadStack stack_of(pid_t tid, Duration patience) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  ThreadStack stack{.frames = {}, .state = state_in_words(tid)};
  listen_for_signal();
  Capture& from = capture();
  from.done = false;
  from.wanted = tid;
  if (::syscall(SYS_tgkill, ::getpid(), tid, signal_number()) != 0) return stack;
  const Clock::time_point until = Clock::now() + patience;
  while (!from.done && Clock::now() < until) std::this_thread::sleep_for(Duration(1));
  from.wanted = 0;
  if (!from.done) return stack;
  const auto end = from.frames.begin() + from.count;
  auto frame = std::find(from.frames.begin(), end, from.interrupted);
  if (frame == end) frame = from.frames.begin();  // with the frames of the signal
  for (; frame != end; ++frame) stack.frames.push_back(described(*frame));
  return stack;
}

}  // namespace shoal
