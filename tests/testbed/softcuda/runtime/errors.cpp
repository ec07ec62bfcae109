#include "errors.h"

#include <array>
#include <atomic>

#include "devices.h"
#include "report.h"
#include "softcuda.h"
#include "stream.h"

namespace softcuda {
namespace {

struct Known {
  cudaError_t error;
  const char* name;
  const char* text;
};

// Texts are CUDA's, because programs print them and some compare them.
constexpr std::array kKnown = {
    Known{cudaSuccess, "cudaSuccess", "no error"},
    Known{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Known{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Known{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Known{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
          "invalid resource handle"},
    Known{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    Known{cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
          "an illegal memory access was encountered"},
    Known{cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    Known{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    Known{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    Known{cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
          "part or all of the requested memory range is already mapped"},
    Known{cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
          "pointer does not correspond to a registered memory region"},
};

thread_local cudaError_t last_error = cudaSuccess;
std::array<std::atomic<cudaError_t>, kMostDevices> failed{};

const Known* find(cudaError_t error) {
  for (const Known& known : kKnown) {
    if (known.error == error) return &known;
  }
  return nullptr;
}

}  // namespace

cudaError_t fail(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t device_error(int device) { return failed[size_t(device)]; }

void fail_device(int device, const char* name, cudaError_t error, const char* why) {
  cudaError_t none = cudaSuccess;
  if (!failed[size_t(device)].compare_exchange_strong(none, error)) return;
  report("%s failed on GPU %d with %s: %s", name, device, cudaGetErrorName(error), why);
}

}  // namespace softcuda

using namespace softcuda;

void softcudaTaskFailed(const char* name, cudaError_t error, const char* why) {
  const int device = device_of_running_task();
  if (device < 0) die("%s calls softcudaTaskFailed outside of a task", name);
  fail_device(device, name, error, why);
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t stays = device_error(current_device());
  return stays != cudaSuccess ? stays : last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const Known* known = find(error);
  return known ? known->name : "cudaErrorUnknown";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Known* known = find(error);
  return known ? known->text : "an error that softcuda does not know";
}
