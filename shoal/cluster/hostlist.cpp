#include "shoal/cluster/hostlist.h"

#include <optional>

#include "shoal/core/error.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMaxEntries = 1'000'000;
constexpr size_t kMaxDigits = 12;  // leading zeros included

[[noreturn]] void refuse(std::string_view list, std::string_view why) {
  throw UsageError(format("the list '{}' cannot be read: {}", list.substr(0, 200), why));
}

std::optional<int> count_in(std::string_view text) {
  const std::optional<int> number = number_in<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// Takes the text up to the next comma outside brackets off the front of `list`.
std::string_view take_entry(std::string_view& list) {
  size_t depth = 0;
  size_t end = 0;
  for (; end < list.size(); ++end) {
    if (list[end] == '[') ++depth;
    if (list[end] == ']' && depth > 0) --depth;
    if (list[end] == ',' && depth == 0) break;
  }
  const std::string_view entry = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return entry;
}

// "3" -> {3}, "08-10" -> {08, 09, 10}: numbers keep the width of the first.
void append_range(std::string_view range, std::vector<std::string>& out, std::string_view whole) {
  const size_t dash = range.find('-');
  const std::string_view low_text = range.substr(0, dash);
  const std::string_view high_text =
      dash == std::string_view::npos ? low_text : range.substr(dash + 1);
  const std::optional<int> low = count_in(low_text);
  const std::optional<int> high = count_in(high_text);
  const bool is_range = low && high && *low <= *high && low_text.size() <= kMaxDigits;
  if (!is_range) refuse(whole, format("'{}' is not a range", range.substr(0, 40)));
  if (out.size() + static_cast<size_t>(*high - *low) >= kMaxEntries)
    refuse(whole, "it has more than a million entries");
  for (int number = *low; number <= *high; ++number) {
    out.push_back(format("{:0{}}", number, low_text.size()));
  }
}

std::vector<std::string> expand_bracket(std::string_view inside, std::string_view whole) {
  std::vector<std::string> numbers;
  while (!inside.empty()) append_range(take_entry(inside), numbers, whole);
  if (numbers.empty()) refuse(whole, "a bracket is empty");
  return numbers;
}

std::vector<std::string> expand_entry(std::string_view entry, std::string_view whole) {
  std::vector<std::string> names = {""};
  while (!entry.empty()) {
    const size_t open = std::min(entry.find('['), entry.size());
    for (std::string& name : names) name += entry.substr(0, open);
    entry.remove_prefix(open);
    if (entry.empty()) break;
    const size_t close = entry.find(']');
    if (close == std::string_view::npos) refuse(whole, "a bracket is not closed");
    const std::vector<std::string> numbers = expand_bracket(entry.substr(1, close - 1), whole);
    if (names.size() > kMaxEntries / numbers.size())
      refuse(whole, "it has more than a million entries");
    std::vector<std::string> grown;
    grown.reserve(names.size() * numbers.size());
    for (const std::string& name : names) {
      for (const std::string& number : numbers) grown.push_back(name + number);
    }
    names = std::move(grown);
    entry.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view list) {
  const std::string_view whole = list;
  std::vector<std::string> hosts;
  while (!list.empty()) {
    const std::string_view entry = take_entry(list);
    if (entry.empty()) refuse(whole, "a name is empty");
    std::vector<std::string> names = expand_entry(entry, whole);
    if (hosts.size() + names.size() > kMaxEntries)
      refuse(whole, "it has more than a million entries");
    hosts.insert(hosts.end(), names.begin(), names.end());
  }
  return hosts;
}

std::vector<int> expand_tasks_per_node(std::string_view list) {
  const std::string_view whole = list;
  std::vector<int> tasks;
  while (!list.empty()) {
    const std::string_view entry = take_entry(list);
    const size_t open = std::min(entry.find("(x"), entry.size());
    const std::optional<int> count = count_in(entry.substr(0, open));
    std::optional<int> repeat = 1;
    if (open < entry.size()) {
      if (entry.back() != ')') refuse(whole, format("'{}' has no closing parenthesis", entry));
      repeat = count_in(entry.substr(open + 2, entry.size() - open - 3));
    }
    if (!count || !repeat) refuse(whole, format("'{}' is not a number of tasks", entry));
    if (tasks.size() + static_cast<size_t>(*repeat) > kMaxEntries) {
      refuse(whole, "it has more than a million entries");
    }
    tasks.insert(tasks.end(), static_cast<size_t>(*repeat), *count);
  }
  return tasks;
}

}  // namespace shoal::cluster
