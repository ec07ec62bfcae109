// rule.h -- rules for the value of a field beyond its type. They are the last arguments of
// FieldList::add(); they are checked when the value is read, and told in help, docs and the JSON Schema.
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

// A rule for text. `pattern` tells editors the same: a regular expression that accepts what holds()
// accepts (a test compares the two).
struct TextRule {
  std::string_view words;  // completes "write ..."
  std::string_view pattern;
  bool (*holds)(std::string_view text);
};

// The rule for one component of a path that is valid on every file system.
TextRule file_name();

TextRule not_empty();

// The rule for the name of a network interface or one address of this host; never the wildcard
// address, which would let anybody who reaches the host talk to the ranks.
TextRule one_interface();

}  // namespace shoal::config
