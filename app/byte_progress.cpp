#include "app/byte_progress.h"

#include <utility>

#include "shoal/core/console.h"
#include "shoal/core/format.h"

namespace shoal::app {

ByteProgress::ByteProgress(std::string what)
    : what_(std::move(what)), line_([this] { return text(); }) {}

std::string ByteProgress::text() const {
  const auto done = static_cast<double>(progress_.done);
  const auto total = static_cast<double>(progress_.total);
  if (total == 0) return what_;
  const double speed = done / seconds();
  const std::string left =
      speed > 0 ? format_duration(Duration(static_cast<int64_t>((total - done) / speed) * 1000))
                : "?";
  return format("{} {} {:3.0f}%  {} of {}  {:.0f} MB/s  {} left", what_, progress_bar(done / total),
                100 * done / total, format_bytes(static_cast<int64_t>(done)),
                format_bytes(static_cast<int64_t>(total)), speed / 1e6, left);
}

}  // namespace shoal::app
