// The fake GPUs themselves.
#pragma once

namespace softcuda {

constexpr int kMostDevices = 64;

// The device of the calling thread, as cudaSetDevice has set it.
int current_device();
void set_current_device(int device);

}  // namespace softcuda
