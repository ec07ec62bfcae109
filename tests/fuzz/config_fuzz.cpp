// Any bytes as a config file and as --set arguments: nothing crashes, nothing escapes, and the
// config that results, whatever was refused on the way, prints as a text that reads back as the
// same config.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "shoal/config/check.h"
#include "shoal/config/print.h"
#include "shoal/config/read.h"
#include "shoal/config/text.h"

#include "tests/config/everything.h"
#include "tests/fuzz/require.h"

namespace {

using shoal::config::Entry;
using shoal::config::Findings;
using shoal::config::JobSize;
using shoal::config::RunConfig;
using shoal::config::Table;
using shoal::tests::Everything;
using shoal::tests::require;

template <class Config>
void expect_round_trip(const Table& table) {
  Config again;
  const Table table_again = shoal::config::table_of(again);
  const std::string printed = to_yaml(table);
  Findings found;
  read_yaml(table_again, printed, "printed.yaml", found);
  require(found.problems.empty());
  require(diff(table, table_again).empty());
}

// The first line is a --set argument, the rest the file.
template <class Config>
void try_file(std::string_view input) {
  const size_t end = std::min(input.find('\n'), input.size());
  Config config;
  const Table table = shoal::config::table_of(config);
  Findings found;
  read_yaml(table, input.substr(std::min(end + 1, input.size())), "fuzz.yaml", found);
  read_set(table, input.substr(0, end), found);
  require(report("fuzz.yaml", found.problems).size() < 100'000);
  expect_round_trip<Config>(table);
  if constexpr (std::is_same_v<Config, RunConfig>) {
    const JobSize job{.ranks = 8, .ranks_per_node = 4};
    if (check(config, job).empty()) resolve(config, job);
  }
}

// Gives the same text to a field of every type, as a value and, where that is possible, as it is.
void try_value(std::string_view value) {
  Everything config;
  const Table table = shoal::config::table_of(config);
  Findings found;
  for (const Entry& entry : table) {
    if (entry.field) read_set(table, entry.key + "=" + std::string(value), found);
  }
  expect_round_trip<Everything>(table);
  if (shoal::config::find_bad_text(value) ||
      std::any_of(value.begin(), value.end(), shoal::config::is_control))
    return;
  config.text = value;
  config.maybe_text = value;
  config.words = {std::string(value), std::string(value)};
  expect_round_trip<Everything>(table);
}

}  // namespace

// The first byte says what the rest is tried as; a # means a file, so that configs/ are good seeds.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      try_value(input);
      break;
    case 1:
      try_file<Everything>(input);
      break;
    case 2:
      try_file<RunConfig>(input);
      break;
  }
  return 0;
}
