// schedule_text.h -- a schedule as a text file, to read, keep and write by hand.
//
//   # 1f1b, 2 ranks, 3 micro-batches
//   rank 0: F0 F1 B0 F2 B1 B2
//   rank 1: F0 B0 F1 B1 F2 B2
//
// Each rank has one line, in any order. F is a forward pass and B a backward pass, with the number
// of its micro-batch; a rank with several chunks adds the chunk after a dot: F0.1. A comment begins
// with #; empty lines do not count. The highest numbers give the number of ranks, chunks and
// micro-batches.
//
// Reading checks the syntax. schedule_check.h checks that nothing is missing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/plan/schedule.h"

namespace shoal::plan {

// Returns "F0", or "F0.1" where ranks have several chunks.
std::string action_name(const Action& action, const PipelineShape& shape);

std::string to_text(const Schedule& schedule);

// Throws DataError with `name` and the line when the text is no schedule, repeats a rank or an
// action, or is larger than a pipeline can be.
Schedule schedule_from_text(std::string_view text, std::string_view name);

Schedule read_schedule(const std::filesystem::path& path);

}  // namespace shoal::plan
