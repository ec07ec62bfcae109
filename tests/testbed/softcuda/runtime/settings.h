// Every setting of the runtime, read from the environment once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace softcuda {

enum class RaceMode { kOff, kReport, kAbort };
enum class HostOrder { kThreads, kProcess };

struct Settings {
  int devices;           // SOFTCUDA_DEVICES: fake GPUs of this process
  size_t memory;         // SOFTCUDA_MEM_MB: bytes of each
  int architecture;      // SOFTCUDA_SM: compute capability, times ten
  uint64_t jitter_us;    // SOFTCUDA_JITTER_US: each task waits up to this long before it runs
  uint64_t seed;         // SOFTCUDA_SEED: of the jitter
  bool poison;           // SOFTCUDA_POISON: new memory is filled with NaN
  bool trace;            // SOFTCUDA_TRACE: one line per task
  RaceMode races;        // SOFTCUDA_RACES: off, report or abort
  HostOrder host_order;  // SOFTCUDA_HOST_ORDER: threads, or process: one clock for all host threads
  bool protect_pinned;   // SOFTCUDA_PROTECT_PINNED: guard pinned memory while a copy uses it
  bool operators;        // SOFTCUDA_OPERATORS: load libtorch's operators with the first device
  std::string counts;    // SOFTCUDA_COUNTS: file for the counters, %p and %r replaced
  std::string
      range_prefix;  // SOFTCUDA_RANGES: only NVTX ranges whose name begins so have counters of their own
  std::string fail;   // SOFTCUDA_FAIL: device:operation:n, the task that fails
  std::string spoil;  // SOFTCUDA_SPOIL: device:operation:n, the task whose results are zeros
};

const Settings& settings();

}  // namespace softcuda
