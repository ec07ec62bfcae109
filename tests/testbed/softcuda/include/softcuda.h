// What the doubles share beyond CUDA's public interface. libcudart.so.13 of this directory exports it; the doubles of
// NCCL and of libtorch's operators call it, and a test may.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

extern "C" {

// Bytes that a task reads or writes. Races are told by these, so a task that hides one hides its races.
struct SoftcudaRange {
  const void* begin;
  size_t bytes;
  int writes;
  const char*
      operand;  // as reports call it, such as "self" or "result 0"; lives until the task has run
};

// Puts `run(data)` behind everything that `stream` was given before, as a kernel launch does. `name` is what reports
// call it and must live until the task has run. Either `run` or `discard` is called with `data`, once: `discard` when
// the device has failed, which the call may find out at once, and then returns the error, or when the task's turn
// comes.
cudaError_t softcudaLaunch(cudaStream_t stream,
                           const char* name,
                           const SoftcudaRange* ranges,
                           size_t count,
                           void (*run)(void*),
                           void (*discard)(void*),
                           void* data);

// The number of a stream, by which reports call it.
size_t softcudaStreamNumber(cudaStream_t stream);

// Where a task may touch what the program knows as `p`: nobody else can touch device memory.
void* softcudaInside(const void* p);

// A task of this thread's device has failed. One line is printed, and from now on every call that concerns the device
// returns `error`, as after a failed kernel. Only a task may call it.
void softcudaTaskFailed(const char* name, cudaError_t error, const char* why);

// Races seen so far: two tasks of different streams on the same bytes, one of which writes, and no wait between them.
unsigned long softcudaRaces(void);

// Tasks that ran so far.
unsigned long softcudaTasks(void);

// The counters of `softcuda --counts`. They are kept also when no file is asked for.
void softcudaCountLaunches(const char* operation, size_t launches);
void softcudaCountCollective(const char* function, size_t bytes);
void softcudaCountHostRead(void);
// An operator whose caller had to wait here, though it does not on a GPU: softcuda does not know its result's shape.
void softcudaCountUnknownShape(const char* operation);

// Opens and closes a named range of counters, for programs without NVTX.
void softcudaRangePush(const char* name);
void softcudaRangePop(void);

// Writes the counters to `path`, in which %p and %r stand for the process and its RANK; false when that fails.
int softcudaWriteCounts(const char* path);

// What the calling thread knows to be over, for whoever hands work from one host thread to another: `release` takes a
// note under `key` (any address), `acquire` reads it. libsoftthreads.so calls them around mutexes.
void softcudaHostRelease(const void* key);
void softcudaHostAcquire(const void* key);
}
