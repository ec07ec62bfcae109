// quantities.h -- sizes, times and counts as people write and read them.
//
//   parse_bytes("1.5 GiB")  -> 1610612736        format_bytes(1610612736)        -> "1.50 GiB"
//   parse_duration("2m30s") -> 150 s             format_duration(150 s)          -> "2m30s"
//   parse_count("100M")     -> 100000000         format_count(124439808)         -> "124.4M"
//
// Parsers return nothing for text they do not fully understand, and for values that do not fit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

using Duration = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;  // the only clock that deadlines are measured with

inline double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// B, kB MB GB TB PB (powers of 1000), KiB MiB GiB TiB PiB (powers of 1024); no unit means bytes.
std::optional<int64_t> parse_bytes(std::string_view text);
std::string format_bytes(int64_t bytes);

// d h m s ms, several in falling order ("1h30m"), or 0; a fraction is allowed ("0.5s").
std::optional<Duration> parse_duration(std::string_view text);
std::string format_duration(Duration duration);

// k M G T (powers of 1000); no unit means one.
std::optional<int64_t> parse_count(std::string_view text);
std::string format_count(int64_t count);

}  // namespace shoal
