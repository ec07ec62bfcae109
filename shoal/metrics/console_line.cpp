#include "shoal/metrics/console_line.h"

#include <algorithm>

#include "shoal/core/any_bytes.h"

namespace shoal::metrics {

// The last column stays free: some terminals begin a new line when it is written to.
ConsoleLine::ConsoleLine(const Console& console)
    : console_(console), columns_left_(std::max<size_t>(console.columns, 2) - 1) {}

size_t ConsoleLine::room() const {
  const size_t gap = text_.empty() ? 0 : kGap.size();
  return columns_left_ - std::min(columns_left_, gap);
}

void ConsoleLine::add(const std::string& part, std::optional<Colour> colour) {
  const std::string shown = one_line(part, text_.empty() ? room() : std::string::npos);
  if (shown.empty() || columns_of(shown) > room()) return;
  columns_left_ = room() - columns_of(shown);
  if (!text_.empty()) text_ += kGap;
  text_ += colour ? painted(shown, *colour, console_) : shown;
}

}  // namespace shoal::metrics
