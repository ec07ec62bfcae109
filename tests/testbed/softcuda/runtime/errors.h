// The error of the last call of a thread, and the error that stays with a device.
#pragma once

#include <cuda_runtime_api.h>

namespace softcuda {

// Notes an error as the thread's last one and returns it; success is returned without a note, as in CUDA.
cudaError_t fail(cudaError_t error);

// The error of a task that failed on the device. It stays: every later call that concerns the device returns it, until
// the process ends.
cudaError_t device_error(int device);

// A task failed. The first failure of a device is the one that stays, and is reported.
void fail_device(int device, const char* name, cudaError_t error, const char* why);

}  // namespace softcuda
