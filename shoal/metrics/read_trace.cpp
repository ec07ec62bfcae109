#include <algorithm>
#include <cmath>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/metrics/step_trace.h"

namespace shoal::metrics {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr double kLongest = 1e15;  // microseconds

double number_of(const json::Fields& fields, const char* key) {
  double value = 0;
  if (fields.require(key).get_double().get(value) != simdjson::SUCCESS || !(value >= 0) ||
      value > kLongest)
    throw DataError(format("{}.{} is no time", fields.path(), key));
  return value;
}

// Adds the time of a slice to that of its rank, in seconds.
void add(const json::Fields& event, std::map<uint64_t, StepShares>& ranks) {
  const std::string phase = event.text("ph");
  if (phase != "X" && phase != "M") return;
  StepShares& shares = ranks[event.number("pid")];
  if (phase == "M") {
    if (event.text("name") == "process_name") shares.name = event.object("args").text("name");
    return;
  }
  const std::string kind = event.text("cat");
  const double seconds = number_of(event, "dur") / 1e6;
  if (kind == "step") shares.step += seconds;
  if (kind == "data") shares.data += seconds;
  if (kind == "operation") shares.compute += seconds;
  if (kind == "wait") shares.waits[event.object("args").text("group")] += seconds;
}

}  // namespace

TraceSummary read_trace(const fs::path& file) {
  return json::named(file.string(), [&] {
    const json::Document document(read_file(file, kMaxBytes));
    const json::Fields root(document.root(), "trace");
    const json::Fields about = root.object("otherData");
    TraceSummary summary;
    summary.step = static_cast<int64_t>(about.number("step"));
    summary.clock_error_us = number_of(about, "clock_error_us");
    summary.slices_left_out = about.number("slices_left_out");
    std::map<uint64_t, StepShares> ranks;
    for (const json::element event : root.list("traceEvents"))
      add(json::Fields(event, "trace.traceEvents"), ranks);
    summary.ranks.reserve(ranks.size());
    for (auto& [rank, shares] : ranks) {
      shares.rank = static_cast<int64_t>(rank);
      double waited = 0;
      for (const auto& [group, seconds] : shares.waits) waited += seconds;
      shares.between = std::max(0.0, shares.step - shares.data - shares.compute);
      shares.compute = std::max(0.0, shares.compute - waited);
      summary.ranks.push_back(std::move(shares));
    }
    return summary;
  });
}

std::optional<fs::path> latest_trace(const fs::path& directory, int64_t last_step) {
  std::optional<fs::path> latest;
  int64_t latest_step = -1;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(directory, unreadable)) {
    const auto step = step_of_trace(entry.path().filename().string());
    if (!step || *step > last_step || *step <= latest_step) continue;
    latest = entry.path();
    latest_step = *step;
  }
  return latest;
}

}  // namespace shoal::metrics
