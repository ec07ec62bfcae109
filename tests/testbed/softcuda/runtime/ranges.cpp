#include "ranges.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "counts.h"
#include "settings.h"
#include "softcuda.h"

namespace softcuda {
namespace {

struct Range {
  std::string name;  // empty when the setting leaves it out
  unsigned long id;
};

std::mutex& ranges_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// By ranges_mutex: all open ranges, the last opened at the end.
std::vector<Range>& open_ranges() {
  static auto& made = *new std::vector<Range>;
  return made;
}
unsigned long last_id = 0;

// What this thread has pushed and not popped.
std::vector<unsigned long>& pushed() {
  thread_local auto* const ids = new std::vector<unsigned long>;
  return *ids;
}

}  // namespace

unsigned long start_range(const char* name) {
  const bool counts = std::string(name).starts_with(settings().range_prefix);
  std::lock_guard lock(ranges_mutex());
  open_ranges().push_back({counts ? name : "", ++last_id});
  return last_id;
}

void end_range(unsigned long id) {
  std::lock_guard lock(ranges_mutex());
  std::erase_if(open_ranges(), [&](const Range& range) { return range.id == id; });
}

void push_range(const char* name) { pushed().push_back(start_range(name)); }

void pop_range() {
  if (pushed().empty()) return;  // CUDA's tools let that pass as well
  end_range(pushed().back());
  pushed().pop_back();
}

std::string open_range() {
  std::lock_guard lock(ranges_mutex());
  const auto last = std::find_if(open_ranges().rbegin(), open_ranges().rend(),
                                 [](const Range& r) { return !r.name.empty(); });
  return last == open_ranges().rend() ? std::string() : last->name;
}

}  // namespace softcuda

void softcudaRangePush(const char* name) { softcuda::push_range(name); }
void softcudaRangePop() { softcuda::pop_range(); }
