// Kernels: libtorch registers thousands of them when it is loaded. None can run here, so the one that is launched is
// named, and the process ends.
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_map>

#include <cuda_runtime_api.h>
#include <cxxabi.h>

#include "report.h"
#include "settings.h"

namespace softcuda {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared = 0;
  void* stream = nullptr;
};
thread_local CallConfiguration configuration;

std::mutex& kernels_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// By kernels_mutex: names as the compiler mangled them.
std::unordered_map<const void*, const char*>& kernels() {
  static auto& made = *new std::unordered_map<const void*, const char*>;
  return made;
}

std::string name_of(const void* function) {
  std::lock_guard lock(kernels_mutex());
  const auto found = kernels().find(function);
  if (found == kernels().end()) return "that was never registered";
  int status = 0;
  char* plain = abi::__cxa_demangle(found->second, nullptr, nullptr, &status);
  const std::string name = plain ? plain : found->second;
  std::free(plain);
  return name;
}

[[noreturn]] void refuse(const void* function) {
  die("a kernel was launched that has no double: %s", name_of(function).c_str());
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

// What nvcc's host code calls; CUDA has no header for it.
extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

void __cudaRegisterFunction(
    void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  std::lock_guard lock(kernels_mutex());
  kernels()[host] = name;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<void**>(stream) = configuration.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t) {
  refuse(kernel);
}

}  // extern "C"

cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void**, size_t, cudaStream_t) {
  refuse(function);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* function, void**) {
  refuse(function);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = attributes->ptxVersion = settings().architecture;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 2;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void*, int, size_t, unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
