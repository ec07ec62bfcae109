// manifest_fields.h -- files and tensors as JSON: the common part of manifests
// (checkpoint_manifest.h) and the reports of ranks (part_report.h).
//
// This header includes simdjson: for .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "shoal/core/json_fields.h"
#include "shoal/state/checkpoint_manifest.h"

namespace shoal::state {

// Returns the fields "files" and "tensors", without braces around.
std::string fields_of(const std::vector<DataFile>& files, const std::vector<TensorSpec>& tensors);

// Reads the files; names have no path and are unique.
std::vector<DataFile> files_from(const json::Fields& root);
// Reads the tensors, sorted by name; names are unique.
std::vector<TensorSpec> tensors_from(const json::Fields& root);

uint64_t limited_number(const json::Fields& fields, const std::string& key, uint64_t most);

}  // namespace shoal::state
