// problem.h -- the problems of a config, collected instead of thrown one at a time: a queue slot is
// too expensive to spend on discovering one typo per start.
//
//   configs/a.yaml cannot be used (2 problems)
//     parallel.tp     0 is less than 1, the smallest value (configs/a.yaml:4:7)
//                     -> write a whole number from 1 to 1024
//     comm.deadlin    is not a key of shoal (configs/a.yaml:7:3)
//                     -> did you mean comm.deadline?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/yaml_node.h"

namespace shoal::config {

struct Problem {
  std::string where{};  // the dotted key; empty for the file as a whole
  std::string place{};  // "file:line:column" or "--set"; empty for a default, which nobody wrote
  std::string what{};   // what is wrong, with the value
  std::string hint{};   // a way out

  bool operator==(const Problem&) const = default;
};

// The source of values from the command line.
constexpr std::string_view kFromSet = "--set";

// Returns the place of a node of `source`, as editors and terminals understand it.
std::string place_of(std::string_view source, const YamlNode& node);

// Returns all problems under one header line; a long list is cut, and its length is told.
std::string report(std::string_view title, const std::vector<Problem>& problems);

}  // namespace shoal::config
