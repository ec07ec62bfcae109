// Device memory, and pinned memory in use, are protected pages, so the host's access is SIGSEGV; the handler says
// what it was, and the process ends. Any other SIGSEGV goes where it would have gone. A system call that is given
// such an address returns EFAULT instead and is not named.
#include "faults.h"

#include <csignal>
#include <string>

#include <ucontext.h>

#include "arena.h"
#include "memory.h"
#include "pinned.h"
#include "report.h"

namespace softcuda {
namespace {

struct sigaction previous;

// Bit 1 of the page fault's error code: a write.
bool is_write([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const void* at = info->si_addr;
  const char* does = is_write(context) ? "writes" : "reads";
  if (device_arena().contains(at)) die("the host %s device memory at %p", does, at);
  if (pinned_arena().contains(at)) {
    const std::string use = use_of_pinned(at);
    if (!use.empty()) die("the host %s pinned memory at %p %s", does, at, use.c_str());
  }
  sigaction(signal, &previous, nullptr);  // the instruction is tried again
}

}  // namespace

void name_faults() {
  static const bool once = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGSEGV, &action, &previous) == 0;
  }();
  (void)once;
}

}  // namespace softcuda
