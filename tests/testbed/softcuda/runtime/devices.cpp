#include "devices.h"

#include <cstdio>
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "counts.h"
#include "errors.h"
#include "report.h"
#include "settings.h"
#include "stream.h"

namespace softcuda {
namespace {

thread_local int of_thread = 0;

// The operators' double stands beside this library and comes in when a program first asks for GPUs. Were it preloaded,
// it would pull libtorch into every process.
void load_operators() {
  static const bool once = [] {
    if (!settings().operators) return true;
    Dl_info self;
    if (!dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &self)) die("dladdr fails on itself");
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + "libsoftaten.so";
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      die("the operators' library cannot be loaded: %s", dlerror());
    }
    return true;
  }();
  (void)once;
}

}  // namespace

int current_device() { return of_thread; }
void set_current_device(int device) { of_thread = device; }

}  // namespace softcuda

using namespace softcuda;

cudaError_t cudaGetDeviceCount(int* count) {
  // The library that is loaded asks for the number of GPUs as well.
  thread_local bool loading = false;
  if (!loading) {
    loading = true;
    load_operators();
    loading = false;
  }
  *count = settings().devices;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= settings().devices) return fail(cudaErrorInvalidDevice);
  set_current_device(device);
  return fail(device_error(device));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device < 0 || device >= settings().devices) return fail(cudaErrorInvalidDevice);
  *p = {};
  std::snprintf(p->name, sizeof p->name, "softcuda %d", device);
  p->uuid.bytes[0] = char(device + 1);
  p->major = settings().architecture / 10;
  p->minor = settings().architecture % 10;
  p->totalGlobalMem = settings().memory;
  p->pciBusID = device + 1;
  // The rest are the figures of an H100.
  p->multiProcessorCount = 132;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->totalConstMem = 65536;
  p->l2CacheSize = 50 << 20;
  p->memPitch = 0x7fffffff;
  p->memoryBusWidth = 5120;
  p->textureAlignment = 512;
  p->asyncEngineCount = 3;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = 1;
  p->streamPrioritiesSupported = p->cooperativeLaunch = p->hostRegisterSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = int(p.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = int(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrUnifiedAddressing:
      *value = 1;
      break;
    default:
      *value = 0;  // what is not said is not supported
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, size_t(length), "0000:%02x:00.0", unsigned(device + 1));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  count_synchronization(Synchronization::kDevice);
  return synchronize_device(current_device());
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
