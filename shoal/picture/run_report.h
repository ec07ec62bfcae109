// run_report.h -- a run as one HTML page without anything beside it: loss, speed, memory, where the
// time went, restarts, samples, and what was expected of it.
//
//   write_file_atomically("report.html", run_report(facts));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/run_config.h"
#include "shoal/metrics/jsonl.h"
#include "shoal/metrics/step_record.h"
#include "shoal/metrics/step_trace.h"

namespace shoal::picture {

struct RunFacts {
  std::string name;  // of its directory
  config::RunConfig config;
  std::vector<metrics::StepRecord> records;
  std::vector<metrics::TextRecord> texts;
  // From plan.json: what `shoal plan` expected.
  std::string layout;
  std::optional<double> expected_step_seconds;
  std::optional<metrics::TraceSummary> trace;  // of the latest step that was traced
};

std::string run_report(const RunFacts& facts);

}  // namespace shoal::picture
