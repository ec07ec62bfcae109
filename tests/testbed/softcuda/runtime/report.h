// What softcuda says: one line on standard error per fact, beginning with "softcuda: ".
#pragma once

namespace softcuda {

// Prints the line in one write, so that lines of several processes do not mix.
[[gnu::format(printf, 1, 2)]] void report(const char* format, ...);

// Prints the line and ends the process with SIGABRT.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char* format, ...);

}  // namespace softcuda
