// describe.h -- every key told to people and to editors. All of it comes from fields().
#pragma once

#include <string>
#include <string_view>

#include "shoal/config/field.h"

namespace shoal::config {

// For a terminal: one key, one section, or with an empty key everything. UsageError for an unknown
// key.
std::string to_help(const Table& table, std::string_view key);

// docs/config.md
std::string to_markdown(const Table& table);

// docs/config.schema.json (JSON Schema, draft 2020-12). Values of `table` become the defaults.
// Accepts every config that load() accepts, but for text that looks like a number and is not in
// quotes.
std::string to_json_schema(const Table& table);

}  // namespace shoal::config
