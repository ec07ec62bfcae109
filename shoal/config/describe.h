// describe.h -- every key described to people and to editors. All of it comes from list_fields().
#pragma once

#include <string>
#include <string_view>

#include "shoal/config/field.h"

namespace shoal::config {

// Returns the help for one key, one section, or with an empty key everything. Throws UsageError for
// an unknown key.
std::string to_help(const Table& table, std::string_view key);

// Returns the text of docs/config.md.
std::string to_markdown(const Table& table);

// Returns the text of docs/config.schema.json (JSON Schema, draft 2020-12). The values of `table`
// become the defaults. The schema accepts every config that load() accepts, except text that looks
// like a number and is not in quotes.
std::string to_json_schema(const Table& table);

}  // namespace shoal::config
