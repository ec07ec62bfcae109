// manifest_fields.h -- files and tensors as JSON: what manifests (checkpoint_manifest.h) and the reports of ranks
// (part_report.h) have in common.
//
// It includes simdjson: for .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "shoal/core/json_fields.h"
#include "shoal/state/checkpoint_manifest.h"

namespace shoal::state {

// "files" and "tensors", without braces around.
std::string fields_of(const std::vector<DataFile>& files, const std::vector<TensorSpec>& tensors);

// Names of files without a path, each once.
std::vector<DataFile> files_from(const json::Fields& root);
// By name, each once.
std::vector<TensorSpec> tensors_from(const json::Fields& root);

uint64_t limited_number(const json::Fields& fields, const std::string& key, uint64_t most);

}  // namespace shoal::state
