// console_line.h -- a line of parts that is never wider than the console.
//
//   ConsoleLine line(console);
//   line.add("running", Colour::kGreen);
//   line.add("704/2000");
//   line.text()                                  // "running  704/2000"
//
// A part that does not fit beside those before it is left out; only the first is cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/core/console.h"

namespace shoal::metrics {

class ConsoleLine {
 public:
  static constexpr std::string_view kGap = "  ";

  explicit ConsoleLine(const Console& console);

  // The part may be any bytes. An empty one changes nothing.
  void add(const std::string& part, std::optional<Colour> colour = std::nullopt);

  // Returns the columns that another part may have.
  [[nodiscard]] size_t room() const;

  // Returns the line without its end.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const Console console_;
  size_t columns_left_;
  std::string text_;
};

}  // namespace shoal::metrics
