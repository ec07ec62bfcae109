#include "app/engine/json_lines.h"

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::app {
namespace {

constexpr size_t kChunk = size_t{1} << 16;
constexpr size_t kMaxLine = size_t{1} << 26;

}  // namespace

void for_each_line(const std::filesystem::path& file,
                   const std::function<void(std::string_view line)>& use) {
  const std::string name = file == "-" ? "standard input" : file.string();
  int64_t number = 0;
  const auto take = [&](std::string_view line) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const std::string place = format("{} line {}", name, number);
    try {
      use(line);
    } catch (const DataError& e) {
      throw DataError(format("{}: {}", place, e.what()));
    } catch (const UsageError& e) {
      throw DataError(format("{}: {}", place, e.what()));
    }
  };
  ChunkReader reader(file);
  std::string held;
  for (std::string chunk = reader.next(kChunk); !chunk.empty(); chunk = reader.next(kChunk)) {
    size_t begin = 0;
    for (size_t end = chunk.find('\n'); end != std::string::npos; end = chunk.find('\n', begin)) {
      take(held.append(chunk, begin, end - begin));
      held.clear();
      begin = end + 1;
    }
    held.append(chunk, begin);
    if (held.size() > kMaxLine)
      throw DataError(format("{} line {} is longer than {} bytes: this is no JSONL", name,
                             number + 1, kMaxLine));
  }
  if (!held.empty()) take(held);
}

}  // namespace shoal::app
