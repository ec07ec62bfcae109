#include "shoal/metrics/tensorboard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

#include <unistd.h>

#include "shoal/core/any_bytes.h"
#include "shoal/core/error.h"
#include "shoal/metrics/event_proto.h"

namespace shoal::metrics {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

double wall_time() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_epoch).count();
}

// The latest second in the names of the files that are there; 0 without any.
int64_t latest_second(const fs::path& directory) {
  int64_t latest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int64_t second = 0;
    const char* begin = name.data() + kPrefix.size();
    if (std::from_chars(begin, name.data() + name.size(), second).ec != std::errc()) continue;
    latest = std::max(latest, second);
  }
  if (error) throw DataError(format("cannot list {}: {}", directory.string(), error.message()));
  return latest;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// A restart within the second, or a clock that was set back, must not sort before the file whose
// end it voids: then the name runs ahead of the clock.
RowFile new_file(const fs::path& directory) {
  auto second = std::max(static_cast<int64_t>(wall_time()), latest_second(directory) + 1);
  while (true) {
    const std::string name =
        format("{}{:010}.{}.{}", kPrefix, second++, host_name(), static_cast<int64_t>(::getpid()));
    if (std::optional<RowFile> file = RowFile::create(directory / name)) return std::move(*file);
  }
}

std::string as_code_block(std::string_view text) {
  std::string block = "    ";
  for (const char c : text) {
    block += c;
    if (c == '\n') block += "    ";
  }
  return block;
}

}  // namespace

TensorBoard::TensorBoard(const fs::path& directory, int64_t continue_from_step)
    : events_(new_file(directory)) {
  // In the first file too: TensorBoard takes the first start of a run for no restart.
  events_.append(framed(file_version_event(wall_time())) +
                 framed(session_start_event(wall_time(), continue_from_step)));
}

void TensorBoard::write(const StepRecord& record) {
  std::vector<Scalar> scalars;
  std::set<std::string_view> described = described_;
  for (const Field& field : fields().subspan(1)) {  // the step is every chart's axis
    const std::optional<Number> number = field.of(record);
    if (!number) continue;
    const auto value = std::visit([](auto exact) { return static_cast<float>(exact); }, *number);
    std::string description;
    if (described.insert(field.name).second) {
      description = format(field.unit.empty() ? "{}" : "{} ({})", field.help, field.unit);
    }
    scalars.push_back({field.tag(), value, std::move(description)});
  }
  events_.append(framed(scalars_event(wall_time(), record.step, scalars)));
  described_ = std::move(described);
}

void TensorBoard::text(int64_t step, std::string_view tag, std::string_view text) {
  events_.append(
      framed(text_event(wall_time(), step, valid_utf8(tag), as_code_block(valid_utf8(text)))));
}

void TensorBoard::flush() { events_.sync(); }

}  // namespace shoal::metrics
