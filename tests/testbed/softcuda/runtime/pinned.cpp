#include "pinned.h"

#include <algorithm>

#include <sys/mman.h>

#include "arena.h"
#include "settings.h"

namespace softcuda {
namespace {

struct Guard {
  uintptr_t begin, end;  // whole pages
  bool writes;
  const char* name;
  size_t stream;
  uint64_t when;
};

// By order_mutex.
std::vector<Guard>& guards() {
  static auto& made = *new std::vector<Guard>;
  return made;
}

void protect(const Guard& guard, int protection) {
  mprotect(reinterpret_cast<void*>(guard.begin), guard.end - guard.begin, protection);
}

bool overlap(const Guard& a, const Guard& b) { return a.begin < b.end && b.begin < a.end; }

// Protects what `guard` still needs; where several overlap, those that write have the last word.
void apply_around(const Guard& guard) {
  protect(guard, PROT_READ | PROT_WRITE);
  for (const bool writes : {false, true}) {
    for (const Guard& other : guards()) {
      if (other.writes == writes && overlap(guard, other)) {
        protect(other, writes ? PROT_NONE : PROT_READ);
      }
    }
  }
}

template <class Predicate>
void remove_where(const Predicate& is_over) {
  std::vector<Guard> removed;
  std::erase_if(guards(), [&](const Guard& guard) {
    if (!is_over(guard)) return false;
    removed.push_back(guard);
    return true;
  });
  for (const Guard& guard : removed) apply_around(guard);
}

}  // namespace

void guard_pinned(const std::vector<SoftcudaRange>& ranges,
                  const char* name,
                  size_t stream,
                  uint64_t when) {
  if (!settings().protect_pinned) return;
  for (const SoftcudaRange& range : ranges) {
    if (range.bytes == 0 || !pinned_arena().contains(range.begin)) continue;
    const auto begin = reinterpret_cast<uintptr_t>(range.begin);
    const uintptr_t first = begin / Arena::kPage * Arena::kPage;
    const uintptr_t last = (begin + range.bytes - 1) / Arena::kPage * Arena::kPage;
    guards().push_back({first, last + Arena::kPage, range.writes != 0, name, stream, when});
    apply_around(guards().back());
  }
}

void give_pinned_back(const Clock& known) {
  if (guards().empty()) return;
  remove_where([&](const Guard& guard) { return guard.when <= known.of(guard.stream); });
}

void forget_pinned(const void* begin, size_t bytes) {
  const auto from = reinterpret_cast<uintptr_t>(begin);
  std::lock_guard lock(order_mutex());
  remove_where([&](const Guard& guard) { return guard.begin < from + bytes && from < guard.end; });
}

std::string use_of_pinned(const void* p) {
  std::unique_lock lock(order_mutex(), std::try_to_lock);
  if (!lock) return "in use by a copy";
  const auto at = reinterpret_cast<uintptr_t>(p);
  for (const Guard& guard : guards()) {
    if (at < guard.begin || at >= guard.end) continue;
    return std::string("that ") + guard.name + " of stream " + std::to_string(guard.stream) +
           (guard.writes ? " writes" : " reads") + ", with no wait between";
  }
  return {};
}

}  // namespace softcuda
