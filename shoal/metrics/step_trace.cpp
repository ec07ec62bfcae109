#include "shoal/metrics/step_trace.h"

#include <algorithm>
#include <array>

#include "shoal/core/any_bytes.h"
#include "shoal/core/format.h"
#include "shoal/core/json_text.h"
#include "shoal/core/number_in.h"

namespace shoal::metrics {
namespace {

constexpr std::string_view kNameBegins = "trace-step-";
constexpr std::string_view kNameEnds = ".json";
constexpr std::array kKinds = {"step", "data", "operation", "wait", "call"};

// The format counts microseconds.
std::string microseconds(int64_t nanoseconds) {
  return format("{:.3f}", static_cast<double>(nanoseconds) / 1e3);
}

// Viewers take a thread with the number of its process for the main one, and 0 for the same thread in all of them: so
// lanes have numbers that no rank has, and no two are alike.
size_t thread_of(int rank, size_t lane) { return 10'000 + 100 * static_cast<size_t>(rank) + lane; }

// Adds what names a process or one of its lanes.
void add_name(
    std::string& events, int rank, size_t lane, const char* what, const std::string& value) {
  events += format(",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{{}}}}}",
                   rank, thread_of(rank, lane), what, value);
}

std::string arguments_of(const TraceSlice& slice) {
  std::string arguments;
  const auto add = [&arguments](const char* key, const std::string& value) {
    arguments += format("{}\"{}\":{}", arguments.empty() ? "" : ",", key, value);
  };
  if (slice.line) add("line", std::to_string(*slice.line));
  if (slice.micro_batch) add("micro_batch", std::to_string(*slice.micro_batch));
  if (slice.bytes) add("bytes", std::to_string(*slice.bytes));
  if (!slice.group.empty()) add("group", json::in_quotes(slice.group));
  if (!slice.what.empty()) add("what", json::in_quotes(slice.what));
  return arguments;
}

// An arrow is bound to the slice that its ends lie in. A receive is started long before anything is sent, so that only
// its last nanosecond is surely behind the beginning of the send; viewers drop an arrow that goes back in time.
void draw_arrow(std::string& events, int rank, const TraceSlice& slice) {
  const int64_t at = slice.receives ? std::max(slice.begin, slice.end - 1) : slice.begin;
  events += format(
      ",\n{{\"ph\":\"{}\",{}\"pid\":{},\"tid\":{},\"cat\":\"transfer\",\"name\":\"transfer\","
      "\"id\":{},\"ts\":{}}}",
      slice.receives ? "f" : "s", slice.receives ? "\"bp\":\"e\"," : "", rank,
      thread_of(rank, slice.lane), *slice.flow, microseconds(at));
}

}  // namespace

std::string events_of(const RankTrace& trace) {
  std::string events;
  const auto sorted = [](size_t place) { return format("\"sort_index\":{}", place); };
  const auto named = [](const std::string& text) {
    return format("\"name\":{}", json::in_quotes(valid_utf8(text)));
  };
  add_name(events, trace.rank, 0, "process_name", named(trace.name));
  add_name(events, trace.rank, 0, "process_sort_index", sorted(static_cast<size_t>(trace.rank)));
  for (size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    add_name(events, trace.rank, lane, "thread_name", named(trace.lanes[lane]));
    add_name(events, trace.rank, lane, "thread_sort_index", sorted(lane));
  }
  for (const TraceSlice& slice : trace.slices) {
    events += format(
        ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"cat\":\"{}\",\"name\":{},\"ts\":{},\"dur\":{},"
        "\"args\":{{{}}}}}",
        trace.rank, thread_of(trace.rank, slice.lane), kKinds[static_cast<size_t>(slice.kind)],
        json::in_quotes(slice.name), microseconds(slice.begin),
        microseconds(slice.end - slice.begin), arguments_of(slice));
    if (slice.flow) draw_arrow(events, trace.rank, slice);
  }
  return events;
}

std::string trace_file(const TraceFacts& facts, const std::vector<std::string>& events) {
  std::string all;
  for (const std::string& of_rank : events) all += of_rank;
  return format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"written_by\":\"shoal\",\"step\":{},\"ranks\":"
      "{},\"clock_error_us\":{:.1f},\"slices_left_out\":{}}},\n\"traceEvents\":[{}\n]}}\n",
      facts.step, facts.ranks, facts.clock_error_us, facts.slices_left_out,
      all.empty() ? "" : std::string_view(all).substr(1));
}

std::string trace_name(int64_t step) { return format("{}{:06}{}", kNameBegins, step, kNameEnds); }

std::optional<int64_t> step_of_trace(std::string_view name) {
  if (!name.starts_with(kNameBegins) || !name.ends_with(kNameEnds)) return std::nullopt;
  name.remove_prefix(kNameBegins.size());
  if (name.size() <= kNameEnds.size()) return std::nullopt;
  name.remove_suffix(kNameEnds.size());
  return number_in<int64_t>(name);
}

}  // namespace shoal::metrics
