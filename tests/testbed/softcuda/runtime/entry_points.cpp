// The few calls of the driver that libc10_cuda asks the runtime for by name.
#include <cstring>
#include <string>
#include <unordered_map>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "memory.h"
#include "report.h"
#include "settings.h"

namespace softcuda {
namespace {

CUresult error_string(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "a call of the driver that softcuda has not";
  return CUDA_SUCCESS;
}

CUresult device(CUdevice* out, int ordinal) {
  *out = ordinal;
  return CUDA_SUCCESS;
}

CUresult attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return CUresult(cudaDeviceGetAttribute(value, cudaDeviceAttr(attribute), device));
}

CUresult address_range(CUdeviceptr* base, size_t* bytes, CUdeviceptr p) {
  const std::optional<Block> block = block_of(reinterpret_cast<void*>(p));
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  if (base) *base = reinterpret_cast<CUdeviceptr>(block->begin);
  if (bytes) *bytes = block->bytes;
  return CUDA_SUCCESS;
}

CUresult not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }

void* find(const char* symbol) {
  static const auto& known = *new std::unordered_map<std::string, void*>{
      {"cuGetErrorString", reinterpret_cast<void*>(error_string)},
      {"cuDeviceGet", reinterpret_cast<void*>(device)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(attribute)},
      {"cuMemGetAddressRange", reinterpret_cast<void*>(address_range)},
  };
  const auto found = known.find(symbol);
  if (found != known.end()) return found->second;
  // libc10_cuda does not load without these; the others it can do without.
  const bool required = !std::strncmp(symbol, "cuMem", 5) || !std::strncmp(symbol, "cuStream", 8);
  return required ? reinterpret_cast<void*>(not_supported) : nullptr;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

// Success also for what is not there, and no last error: libc10_cuda would find that error after its next allocation.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol,
                                             void** function,
                                             unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  *function = find(symbol);
  if (status) {
    *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  if (settings().trace) report("entry point %s %s", symbol, *function ? "given" : "not given");
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol,
                                    void** function,
                                    unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, status);
}
