// step_trace.h -- what ranks did in one step, as a file in the trace event format, which Perfetto and chrome://tracing
// open.
//
//   RankTrace mine{.rank = 3, .name = "rank 3 on n2, pp 1 tp 0", .lanes = {"compute", "dp_shard"}};
//   mine.slices.push_back({.name = "forward blocks.3", .begin = 12'500, .end = 40'000, .line = 17});
//   write_file_atomically(path, trace_file({.step = 10, .ranks = 1}, {events_of(mine)}));
//
// A rank is a process of the trace and a lane is a thread of it. Slices of a lane nest or do not touch: a viewer cannot
// draw others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::metrics {

// What a file holds at most: it has to fit into the memory of rank 0, and into a viewer.
constexpr int kMostTracedRanks = 64;
constexpr size_t kMostTracedSlices = 400'000;

enum class SliceKind : uint8_t {
  kStep,       // all of it
  kData,       // waiting for a batch
  kOperation,  // of the step's program
  kWait,       // inside an operation: for the communication of a group
  kCall,       // communication, on the lane of its group
};

struct TraceSlice {
  SliceKind kind = SliceKind::kOperation;
  size_t lane = 0;
  std::string name;
  int64_t begin = 0;  // nanoseconds on the clock of the trace
  int64_t end = 0;
  std::optional<int64_t> line{};  // of what `shoal plan program` prints
  std::optional<int64_t> micro_batch{};
  std::optional<int64_t> bytes{};
  std::string group{};  // of a wait or a call
  std::string what{};   // purpose of a call
  // The slices of two lanes that have the same flow are joined by an arrow, from a send to a receive.
  std::optional<int64_t> flow{};
  bool receives = false;
};

struct RankTrace {
  int rank = 0;
  std::string name;
  std::vector<std::string> lanes;  // the first is the computation
  std::vector<TraceSlice> slices;
};

// Returns the events of a rank, for one file with those of others.
std::string events_of(const RankTrace& trace);

struct TraceFacts {
  int64_t step = 0;
  int ranks = 1;                // of the job
  double clock_error_us = 0;    // by which the clock of no rank is further off
  int64_t slices_left_out = 0;  // beyond kMostTracedSlices
};

// Returns the file; empty `events` are of ranks that are left out.
std::string trace_file(const TraceFacts& facts, const std::vector<std::string>& events);

// Returns "trace-step-000010.json".
std::string trace_name(int64_t step);

// Where the time of a rank's step went; the sum of all but `step` is `step`.
struct StepShares {
  int64_t rank = 0;
  std::string name;
  double step = 0;  // seconds
  double data = 0;
  double compute = 0;                   // in operations, without waiting
  std::map<std::string, double> waits;  // for a group's communication
  double between = 0;                   // operations
};

struct TraceSummary {
  int64_t step = 0;
  double clock_error_us = 0;
  uint64_t slices_left_out = 0;  // so that the shares of time are wrong
  std::vector<StepShares> ranks;
};

// Reads a file that trace_file() made. Throws DataError for any other.
TraceSummary read_trace(const std::filesystem::path& file);
// Returns the trace of the latest step in a run's directory up to `last_step`: those behind it are of
// steps that a resume has taken back.
std::optional<std::filesystem::path> latest_trace(const std::filesystem::path& directory,
                                                  int64_t last_step);
// Returns the step of trace_name(); nothing for another name.
std::optional<int64_t> step_of_trace(std::string_view name);

}  // namespace shoal::metrics
