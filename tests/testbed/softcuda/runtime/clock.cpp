#include "clock.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "pinned.h"
#include "settings.h"
#include "softcuda.h"

namespace softcuda {
namespace {

// A lock of its own, under which no other is taken: mutexes are handed on also while the runtime's locks are held.
std::mutex& notes_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// By notes_mutex: what threads left behind when they let go of something. An address that is used again for another
// mutex gives an edge too many, which hides a race and never invents one.
std::unordered_map<const void*, Clock>& notes() {
  static auto& made = *new std::unordered_map<const void*, Clock>;
  return made;
}

// Before a host thread has waited for anything there is nothing to hand on; programs that never use a GPU stay here.
std::atomic<bool> anybody_waited{false};

bool hands_on_clocks() {
  return anybody_waited.load(std::memory_order_relaxed) &&
         settings().host_order == HostOrder::kThreads;
}

}  // namespace

bool Clock::merge(const Clock& other) {
  bool learned = false;
  if (other.at_.size() > at_.size()) at_.resize(other.at_.size());
  for (size_t i = 0; i < other.at_.size(); ++i) {
    learned |= other.at_[i] > at_[i];
    at_[i] = std::max(at_[i], other.at_[i]);
  }
  return learned;
}

uint64_t Clock::tick(size_t stream) {
  if (stream >= at_.size()) at_.resize(stream + 1);
  return ++at_[stream];
}

std::mutex& order_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

Clock& host_clock() {
  static Clock& of_all = *new Clock;
  // Not a thread_local object: destructors of other thread-local objects may still call CUDA.
  thread_local Clock* const own = new Clock;
  return settings().host_order == HostOrder::kProcess ? of_all : *own;
}

void host_waited(const Clock& clock) {
  std::lock_guard lock(order_mutex());
  anybody_waited = true;
  if (host_clock().merge(clock)) give_pinned_back(host_clock());
}

}  // namespace softcuda

using namespace softcuda;

// A thread's own clock is touched by no other thread.

void softcudaHostRelease(const void* key) {
  if (!hands_on_clocks() || host_clock().empty()) return;
  std::lock_guard lock(notes_mutex());
  notes()[key].merge(host_clock());
}

void softcudaHostAcquire(const void* key) {
  if (!hands_on_clocks()) return;
  std::lock_guard lock(notes_mutex());
  const auto note = notes().find(key);
  if (note != notes().end()) host_clock().merge(note->second);
}
