#include "shoal/core/process_stat.h"

#include <charconv>
#include <string_view>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal {
namespace {

constexpr size_t kMostStatBytes = 4096;
constexpr size_t kMostVmstatBytes = 65536;
constexpr int kFieldsBeforeStart = 19;  // behind the name

std::string stat_file(const std::string& pid) {
  try {
    return ChunkReader(format("/proc/{}/stat", pid)).next(kMostStatBytes);
  } catch (const DataError&) {
    return {};
  }
}

}  // namespace

std::optional<ProcessStat> process_stat(const std::string& pid) {
  const std::string stat = stat_file(pid);
  const size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  std::string_view rest = std::string_view(stat).substr(name_end + 1);
  for (int i = 0; i < kFieldsBeforeStart; ++i) {
    const size_t blank = rest.find(' ', 1);
    if (blank == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(blank);
  }
  return ProcessStat{.state = stat[name_end + 2],
                     .start = std::string(rest.substr(1, rest.find(' ', 1) - 1))};
}

int64_t out_of_memory_kills() {
  constexpr std::string_view kName = "\noom_kill ";
  std::string text;
  try {
    text = ChunkReader("/proc/vmstat").next(kMostVmstatBytes);
  } catch (const DataError&) {
    return 0;
  }
  const size_t at = text.find(kName);
  int64_t count = 0;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + kName.size(), text.data() + text.size(), count);
  return count;
}

std::optional<ProcessStat> thread_stat(pid_t tid) {
  return process_stat(format("self/task/{}", tid));
}

}  // namespace shoal
