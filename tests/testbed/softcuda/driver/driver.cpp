// libcuda.so.1, only so that libcaffe2_nvrtc.so can be loaded: libtorch asks it whether a device has a context. What it
// imports besides is generated and ends the process with its name.
#include <cuda.h>

CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  static char only_one;
  *context = reinterpret_cast<CUcontext>(&only_one);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an error of softcuda's driver";
  return CUDA_SUCCESS;
}
