// Faults by request, each of the n-th task of a name on a device: SOFTCUDA_FAIL=device:operation:n makes it fail, which everybody is told,
// and SOFTCUDA_SPOIL=device:operation:n makes its results zeros, which nobody is told.
#pragma once

#include <atomic>
#include <string>

namespace softcuda {

// One task, asked for by a setting.
class AskedTask {
 public:
  // `text` is device:operation:n, or empty for none. Ends the process when it is neither, with the setting's name.
  AskedTask(const char* setting, const std::string& text);

  // Counts the task; true when it is the one. Called by streams' threads.
  bool is(int device, const char* operation);

 private:
  int device_ = -1;
  std::string operation_;
  long number_ = 0;
  std::atomic<long> seen_{0};
};

AskedTask& task_that_fails();
AskedTask& task_that_is_spoilt();

}  // namespace softcuda
