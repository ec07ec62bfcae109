// Failures by request: SOFTCUDA_FAIL=device:operation:n makes the n-th task of that name on that device fail.
#pragma once

namespace softcuda {

// Counts the task; true when it is the one that must fail. Called by streams' threads.
bool fails_by_setting(int device, const char* operation);

}  // namespace softcuda
