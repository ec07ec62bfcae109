#include "races.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "report.h"
#include "settings.h"

namespace softcuda {
namespace {

struct Touch {
  uintptr_t begin, end;
  bool writes;
  size_t stream;
  uint64_t when;
  const char* name;     // of the task; operators' names are never freed
  const char* operand;  // of the task
};

constexpr unsigned long kReports = 20;  // the rest of a flood says nothing new

std::atomic<unsigned long> races{0};

std::vector<Touch>& touches() {
  static auto& made = *new std::vector<Touch>;
  return made;
}

void report_race(const Touch& now, const Touch& before) {
  const unsigned long number = ++races;
  const size_t bytes = std::min(now.end, before.end) - std::max(now.begin, before.begin);
  const auto say = settings().races == RaceMode::kAbort ? die : report;
  if (number > kReports && settings().races == RaceMode::kReport) return;
  say("race %lu: %s of stream %zu %s %zu bytes (%s) that %s of stream %zu %s (%s), with no wait "
      "between",
      number, now.name, now.stream, now.writes ? "writes" : "reads", bytes, now.operand,
      before.name, before.stream, before.writes ? "writes" : "reads", before.operand);
}

// Whoever is ordered behind `now` is ordered behind `before`, and conflicts with `now` where it would with `before`.
bool stands_for(const Touch& now, const Touch& before) {
  const bool covers = now.begin <= before.begin && before.end <= now.end;
  return covers && (now.writes || (!before.writes && before.stream == now.stream));
}

void check_touch(const Touch& now, const Clock& known) {
  std::erase_if(touches(), [&](const Touch& before) {
    if (before.end <= now.begin || now.end <= before.begin) return false;
    const bool ordered = before.stream == now.stream || before.when <= known.of(before.stream);
    const bool conflict = before.writes || now.writes;
    const bool same_task = before.stream == now.stream && before.when == now.when;
    if (!ordered && conflict) report_race(now, before);
    return ordered && !same_task && stands_for(now, before);
  });
  touches().push_back(now);
}

}  // namespace

void check_races(const std::vector<SoftcudaRange>& ranges,
                 const char* name,
                 size_t stream,
                 uint64_t when,
                 const Clock& known) {
  if (settings().races == RaceMode::kOff) return;
  for (const SoftcudaRange& range : ranges) {
    if (range.bytes == 0) continue;
    const auto begin = reinterpret_cast<uintptr_t>(range.begin);
    const Touch now{begin, begin + range.bytes, range.writes != 0, stream, when,
                    name,  range.operand};
    check_touch(now, known);
  }
}

void forget_touches(const void* begin, size_t bytes) {
  const auto from = reinterpret_cast<uintptr_t>(begin);
  std::lock_guard lock(order_mutex());
  std::erase_if(touches(), [&](const Touch& t) { return t.begin < from + bytes && from < t.end; });
}

}  // namespace softcuda

unsigned long softcudaRaces() { return softcuda::races; }
