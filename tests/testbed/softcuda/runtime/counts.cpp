#include "counts.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include <unistd.h>

#include "ranges.h"
#include "report.h"
#include "settings.h"
#include "softcuda.h"

namespace softcuda {
namespace {

// Every counter has a name, which is also its key in the file. The maps keep their order, so two files can be compared
// line by line.
struct Counters {
  std::map<std::string, uint64_t> plain;
  std::map<std::string, uint64_t> launches;        // by operator
  std::map<std::string, uint64_t> collectives;     // by function of NCCL
  std::map<std::string, uint64_t> unknown_shapes;  // by operator: waits that a GPU would not have
};

std::mutex& counts_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// By counts_mutex.
Counters& totals() {
  static auto& made = *new Counters;
  return made;
}
std::map<std::string, Counters>& by_range() {
  static auto& made = *new std::map<std::string, Counters>;
  return made;
}

template <class Change>
void change(const Change& apply) {
  const std::string range = open_range();
  std::lock_guard lock(counts_mutex());
  apply(totals());
  if (!range.empty()) apply(by_range()[range]);
}

void add(const char* counter, uint64_t number) {
  change([&](Counters& counters) { counters.plain[counter] += number; });
}

void add_with_bytes(const std::string& counter, uint64_t bytes) {
  change([&](Counters& counters) {
    ++counters.plain[counter];
    counters.plain[counter + "_bytes"] += bytes;
  });
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string as_json(const std::map<std::string, uint64_t>& counters) {
  std::string out = "{";
  for (const auto& [name, number] : counters) {
    if (out.size() > 1) out += ", ";
    out += quoted(name) + ": " + std::to_string(number);
  }
  return out + "}";
}

std::string as_json(const Counters& counters) {
  return "{\"counters\": " + as_json(counters.plain) +
         ",\n   \"launches\": " + as_json(counters.launches) +
         ",\n   \"collectives\": " + as_json(counters.collectives) +
         ",\n   \"unknown_shapes\": " + as_json(counters.unknown_shapes) + "}";
}

std::string file_name(std::string pattern) {
  const char* rank = std::getenv("RANK");
  const std::pair<const char*, std::string> parts[] = {{"%p", std::to_string(getpid())},
                                                       {"%r", rank ? rank : "0"}};
  for (const auto& [mark, value] : parts) {
    for (size_t at = pattern.find(mark); at != std::string::npos; at = pattern.find(mark)) {
      pattern.replace(at, 2, value);
    }
  }
  return pattern;
}

// Processes that never used a GPU (a shell, a launcher) write nothing, or they would overwrite the file of one that
// did.
[[gnu::destructor]] void write_at_exit() {
  if (settings().counts.empty()) return;
  {
    std::lock_guard lock(counts_mutex());
    if (totals().plain.empty() && totals().launches.empty()) return;
  }
  softcudaWriteCounts(settings().counts.c_str());
}

}  // namespace

void count_synchronization(Synchronization kind) {
  switch (kind) {
    case Synchronization::kStream:
      return add("stream_synchronizations", 1);
    case Synchronization::kEvent:
      return add("event_synchronizations", 1);
    case Synchronization::kDevice:
      return add("device_synchronizations", 1);
  }
}

void count_copy(size_t bytes, bool from_host, bool to_host, bool pageable, bool blocking) {
  if (!from_host && !to_host) return add_with_bytes("copies_device_to_device", bytes);
  const std::string memory = pageable ? "pageable" : blocking ? "pinned_blocking" : "pinned_async";
  add_with_bytes("copies_" + memory + (to_host ? "_device_to_host" : "_host_to_device"), bytes);
  if (to_host && (pageable || blocking)) softcudaCountHostRead();
}

void count_memset(size_t bytes) { add_with_bytes("memsets", bytes); }
void count_allocation(size_t bytes) { add_with_bytes("cuda_malloc", bytes); }
void count_free() { add("cuda_free", 1); }
void count_pinned_allocation(size_t bytes) { add_with_bytes("cuda_host_alloc", bytes); }

std::string counts_as_json() {
  std::lock_guard lock(counts_mutex());
  const char* rank = std::getenv("RANK");
  std::string out = "{\"softcuda\": 1, \"pid\": " + std::to_string(getpid()) +
                    ", \"rank\": " + quoted(rank ? rank : "") +
                    ",\n \"total\": " + as_json(totals()) + ",\n \"ranges\": {";
  bool first = true;
  for (const auto& [name, counters] : by_range()) {
    out += (first ? "\n  " : ",\n  ") + quoted(name) + ": " + as_json(counters);
    first = false;
  }
  return out + "}}\n";
}

}  // namespace softcuda

using namespace softcuda;

void softcudaCountLaunches(const char* operation, size_t launches) {
  if (launches == 0) return;
  change([&](Counters& counters) {
    counters.launches[operation] += launches;
    counters.plain["launches"] += launches;
  });
}

void softcudaCountCollective(const char* function, size_t bytes) {
  change([&](Counters& counters) {
    ++counters.collectives[function];
    ++counters.plain["collectives"];
    counters.plain["collectives_bytes"] += bytes;
  });
}

void softcudaCountHostRead() { add("host_reads", 1); }

void softcudaCountUnknownShape(const char* operation) {
  change([&](Counters& counters) { ++counters.unknown_shapes[operation]; });
}

int softcudaWriteCounts(const char* path) {
  const std::string name = file_name(path);
  std::ofstream file(name);
  file << counts_as_json();
  file.close();
  if (!file) report("the counters cannot be written to %s", name.c_str());
  return bool(file);
}
