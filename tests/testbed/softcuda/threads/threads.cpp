// libsoftthreads.so: host threads hand on what they have waited for.
//
// One thread waits for a stream, another one uses the memory: that is correct when the first told the second, and a
// race when it did not. A thread that is created inherits what its creator knew, a join tells the joiner, and whoever
// takes a mutex learns what those knew who had it before. Hand-offs by atomic variables alone (also std::future) are
// not seen; a program that relies on them sets SOFTCUDA_HOST_ORDER=process.
#include <cstdint>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "softcuda.h"

namespace {

template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

struct Text {
  uintptr_t begin = 0, end = 0;
};

int find_runtime(dl_phdr_info* info, size_t, void* out) {
  const auto inside = reinterpret_cast<uintptr_t>(&softcudaHostAcquire);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || inside < begin || inside >= begin + part.p_memsz) continue;
    *static_cast<Text*>(out) = {begin, begin + part.p_memsz};
    return 1;
  }
  return 0;
}

// The runtime's own locks are no hand-offs of the program, and are held while clocks change.
bool is_runtime(const void* caller) {
  static const Text text = [] {
    Text found;
    dl_iterate_phdr(find_runtime, &found);
    return found;
  }();
  const auto at = reinterpret_cast<uintptr_t>(caller);
  return text.begin <= at && at < text.end;
}

const void* thread_key(pthread_t thread) { return reinterpret_cast<const void*>(thread); }

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* begin(void* data) {
  auto* start = static_cast<Start*>(data);
  softcudaHostAcquire(start);
  const Start copy = *start;
  delete start;
  void* result = copy.function(copy.argument);
  softcudaHostRelease(thread_key(pthread_self()));
  return result;
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread,
                   const pthread_attr_t* attributes,
                   void* (*function)(void*),
                   void* argument) {
  static const auto real = next(&pthread_create, "pthread_create");
  auto* start = new Start{function, argument};
  softcudaHostRelease(start);
  const int error = real(thread, attributes, begin, start);
  if (error != 0) delete start;
  return error;
}

int pthread_join(pthread_t thread, void** result) {
  static const auto real = next(&pthread_join, "pthread_join");
  const int error = real(thread, result);
  if (error == 0) softcudaHostAcquire(thread_key(thread));
  return error;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = next(&pthread_mutex_lock, "pthread_mutex_lock");
  const int error = real(mutex);
  if (error == 0 && !is_runtime(__builtin_return_address(0))) softcudaHostAcquire(mutex);
  return error;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static const auto real = next(&pthread_mutex_trylock, "pthread_mutex_trylock");
  const int error = real(mutex);
  if (error == 0 && !is_runtime(__builtin_return_address(0))) softcudaHostAcquire(mutex);
  return error;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  static const auto real = next(&pthread_mutex_unlock, "pthread_mutex_unlock");
  if (!is_runtime(__builtin_return_address(0))) softcudaHostRelease(mutex);
  return real(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto real = next(&pthread_cond_wait, "pthread_cond_wait");
  const bool hands_on = !is_runtime(__builtin_return_address(0));
  if (hands_on) softcudaHostRelease(mutex);
  const int error = real(condition, mutex);
  if (hands_on) softcudaHostAcquire(mutex);
  return error;
}

int pthread_cond_timedwait(pthread_cond_t* condition,
                           pthread_mutex_t* mutex,
                           const timespec* until) {
  static const auto real = next(&pthread_cond_timedwait, "pthread_cond_timedwait");
  const bool hands_on = !is_runtime(__builtin_return_address(0));
  if (hands_on) softcudaHostRelease(mutex);
  const int error = real(condition, mutex, until);
  if (hands_on) softcudaHostAcquire(mutex);
  return error;
}

int pthread_cond_clockwait(pthread_cond_t* condition,
                           pthread_mutex_t* mutex,
                           clockid_t clock,
                           const timespec* until) {
  static const auto real = next(&pthread_cond_clockwait, "pthread_cond_clockwait");
  const bool hands_on = !is_runtime(__builtin_return_address(0));
  if (hands_on) softcudaHostRelease(mutex);
  const int error = real(condition, mutex, clock, until);
  if (hands_on) softcudaHostAcquire(mutex);
  return error;
}
}
