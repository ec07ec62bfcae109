// read.h -- reads values from a YAML document or a --set into the fields of a Table.
//
// Nothing stops at the first problem: a value that is refused leaves its field as it was, and
// reading goes on with the next key.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/field.h"
#include "shoal/config/problem.h"
#include "shoal/config/yaml_node.h"

namespace shoal::config {

struct Findings {
  std::vector<Problem> problems{};
  // The place where each key was written: "file:line:column" or "--set". A key that is absent has
  // its default.
  std::map<std::string, std::string, std::less<>> places{};
};

// Reads a YAML document. `source` is the name of the file, for places.
void read_yaml(const Table& table, std::string_view text, std::string_view source, Findings& found);

// Reads an assignment such as "parallel.tp=4"; the value is read like the right side of a line in a
// file.
void read_set(const Table& table, std::string_view assignment, Findings& found);

// Returns what to write instead of a key that does not exist. `parent` may not exist either.
std::string unknown_key_hint(const Table& table, std::string_view parent, std::string_view name);

}  // namespace shoal::config
