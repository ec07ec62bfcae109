// rule.h -- what a field asks of its value beyond its type. Written as the last arguments of a line
// in fields(); checked when the value is read, told in help, docs and the JSON Schema.
#pragma once

#include <string_view>

namespace shoal::config {

template <class Bound>
struct AtLeast {
  Bound bound;
};

template <class Bound>
struct AtMost {
  Bound bound;
  std::string_view way_out{};  // the hint, when the bounds alone would not help
};

template <class Bound>
struct Between {
  Bound low;
  Bound high;
};

template <class Bound>
constexpr AtLeast<Bound> at_least(Bound bound) {
  return {bound};
}

template <class Bound>
constexpr AtMost<Bound> at_most(Bound bound, std::string_view way_out = {}) {
  return {bound, way_out};
}

template <class Bound>
constexpr Between<Bound> between(Bound low, Bound high) {
  return {low, high};
}

// A rule for text. `pattern` says the same to editors: a regular expression that accepts what
// holds() accepts (a test compares the two).
struct TextRule {
  std::string_view words;  // completes "write ..."
  std::string_view pattern;
  bool (*holds)(std::string_view text);
};

// One part of a path, the same on every file system.
TextRule file_name();

TextRule not_empty();

// The name of a network interface or one address of this host; never the wildcard address, which
// would let anybody who reaches the host talk to the ranks.
TextRule one_interface();

}  // namespace shoal::config
