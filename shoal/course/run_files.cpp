#include "shoal/course/run_files.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/limits.h"
#include "shoal/core/number_in.h"
#include "shoal/plan/layout.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRunFileBytes = size_t{64} << 20;
constexpr std::string_view kEventsPrefix = "events.out.tfevents.";
constexpr std::string_view kLossTag = "loss/loss";

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Reads the few messages that event files are made of: fields with a number, and bytes or a value.
class MessageReader {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;        // of a varint or a fixed one, as bits
    std::string_view bytes{};  // of text and messages
  };

  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}

  // Returns nothing at the end, and for what is no message.
  std::optional<Field> next() {
    const std::optional<uint64_t> key = varint();
    if (!key) return std::nullopt;
    Field field{.number = *key >> 3U};
    switch (*key & 7U) {
      case 0: {
        const std::optional<uint64_t> value = varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return fixed(8, field);
      case 2: {
        const std::optional<uint64_t> size = varint();
        if (!size || *size > bytes_.size()) return std::nullopt;
        field.bytes = bytes_.substr(0, *size);
        bytes_.remove_prefix(*size);
        return field;
      }
      case 5:
        return fixed(4, field);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80U) return value;
    }
    return std::nullopt;
  }

  std::optional<Field> fixed(size_t size, Field field) {
    if (bytes_.size() < size) return std::nullopt;
    for (size_t i = 0; i < size; ++i)
      field.value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    bytes_.remove_prefix(size);
    return field;
  }

  std::string_view bytes_;
};

// The numbers of fields in event.proto and summary.proto.
constexpr uint64_t kEventStep = 2;
constexpr uint64_t kEventSummary = 5;
constexpr uint64_t kSummaryValue = 1;
constexpr uint64_t kValueTag = 1;
constexpr uint64_t kValueNumber = 2;

std::optional<double> loss_of(std::string_view summary) {
  MessageReader values(summary);
  while (const auto value = values.next()) {
    if (value->number != kSummaryValue) continue;
    MessageReader parts(value->bytes);
    std::string_view tag;
    std::optional<double> number;
    while (const auto part = parts.next()) {
      if (part->number == kValueTag) tag = part->bytes;
      if (part->number == kValueNumber)
        number = std::bit_cast<float>(static_cast<uint32_t>(part->value));
    }
    if (tag == kLossTag) return number;
  }
  return std::nullopt;
}

void read_event(std::string_view event, Start& start) {
  MessageReader fields(event);
  int64_t step = 0;
  std::string_view summary;
  while (const auto field = fields.next()) {
    if (field->number == kEventStep) step = static_cast<int64_t>(field->value);
    if (field->number == kEventSummary) summary = field->bytes;
  }
  if (const auto loss = loss_of(summary)) start.losses[step] = *loss;
}

// A record is its length in eight bytes, four of a checksum, itself, and four more. A kill may leave
// the beginning of one at the end.
Start read_start(const fs::path& path) {
  const std::string file = read_file(path, kMaxRunFileBytes);
  std::string_view bytes = file;
  Start start;
  constexpr size_t kBefore = 12;
  constexpr size_t kBehind = 4;
  while (bytes.size() > kBefore + kBehind) {
    uint64_t size = 0;
    for (size_t i = 0; i < 8; ++i)
      size |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if (size > bytes.size() - kBefore - kBehind) break;
    read_event(bytes.substr(kBefore, size), start);
    bytes.remove_prefix(kBefore + size + kBehind);
  }
  return start;
}

// The degrees are those of a file, so their product may be anything.
int ranks_of(const config::ParallelConfig& parallel) {
  int64_t ranks = 1;
  for (const int degree : {parallel.dp_replicate, parallel.dp_shard.value_or(1), parallel.cp,
                           parallel.pp, parallel.tp}) {
    ranks = std::min(ranks * degree, int64_t{kMaxRanks} + 1);
  }
  return static_cast<int>(ranks);  // too many are refused by the mesh
}

void require_run(const fs::path& run) {
  std::error_code none;
  if (!fs::is_directory(run, none))
    throw DataError(format("there is no run in {} yet", run.string()));
}

}  // namespace

std::map<int64_t, double> read_losses(const fs::path& run) {
  require_run(run);
  const fs::path path = run / "metrics.csv";
  const std::string file = read_file(path, kMaxRunFileBytes);
  std::string_view text = file;
  std::vector<std::string_view> names;
  std::map<int64_t, double> losses;
  while (text.find('\n') != std::string_view::npos) {  // what a kill cut off does not count
    const std::vector<std::string_view> cells = cells_of(text.substr(0, text.find('\n')));
    text.remove_prefix(text.find('\n') + 1);
    if (names.empty()) {
      names = cells;
      continue;
    }
    const auto cell = [&](std::string_view name) {
      const auto at =
          static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      return at < cells.size() ? cells[at] : std::string_view();
    };
    const auto step = number_in<int64_t>(cell("step"));
    const auto loss = number_in<double>(cell("loss"));
    if (!step || !loss) throw DataError(format("{} is not what a run wrote", path.string()));
    losses[*step] = *loss;
  }
  return losses;
}

std::vector<Start> starts_of(const fs::path& run) {
  require_run(run);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (entry.path().filename().string().starts_with(kEventsPrefix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // their names begin with the second of the start
  std::vector<Start> starts;
  starts.reserve(files.size());
  for (const fs::path& file : files) starts.push_back(read_start(file));
  return starts;
}

std::map<int64_t, std::string> layouts_of(const fs::path& run) {
  require_run(run);
  std::map<int64_t, std::string> layouts;
  for (const state::CommittedCheckpoint& found : state::checkpoints_in(run / "checkpoints")) {
    const state::Checkpoint checkpoint(found.path, state::kSomeFiles);
    const auto text = checkpoint.values().find("config");
    if (text == checkpoint.values().end()) continue;
    const config::Loaded loaded = config::load_text(text->second, {.file = found.path});
    const config::ParallelConfig& parallel = loaded.config.parallel;
    layouts[static_cast<int64_t>(found.step)] =
        format("{}, {}", plan::mesh_of(parallel, ranks_of(parallel)).describe(),
               config::write_value(parallel.sharding));
  }
  return layouts;
}

std::string layout_of(const fs::path& run) {
  const auto layouts = layouts_of(run);
  if (layouts.empty()) throw DataError(format("{} has no checkpoint yet", run.string()));
  return layouts.rbegin()->second;
}

std::string first_difference(const std::map<int64_t, double>& expected,
                             const std::map<int64_t, double>& found,
                             double tolerance) {
  for (const auto& [step, loss] : expected) {
    const auto other = found.find(step);
    if (other == found.end()) continue;
    if (!(std::abs(other->second - loss) <= tolerance * std::abs(loss)))
      return format("step {} has a loss of {:.6f} here and {:.6f} there", step, loss,
                    other->second);
  }
  return "";
}

}  // namespace shoal::course
