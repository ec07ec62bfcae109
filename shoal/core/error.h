// error.h -- the kinds of errors, and the exit code with which each ends the process.
//
// The kind of an error says who has to act: UsageError the person who wrote the command or config,
// DataError the owner of a file, PeerLost the scheduler (requeue), BugError us. Below app/ nothing
// calls exit(): it throws, and app/edge.cpp turns what arrives there into one line and one code.
//
// Message = what is wrong, the values, the rule, a way out.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shoal/core/format.h"

namespace shoal {

// The one list of exit codes. Launchers and job scripts rely on them: add, never renumber.
// A process that died of signal n is reported as 128 + n, like a shell does.
enum class ExitCode : int {
  kDone = 0,
  kDifferent = 1,      // the compared things differ, as with diff(1)
  kUsage = 2,          // wrong command line or config: retrying cannot help
  kData = 3,           // a file is missing, damaged or not what it claims to be
  kSkippedSteps = 16,  // so many steps in a row were skipped that the run does not learn
  kUnequal = 17,       // what must be equal is not: layouts, replicas, a step that is done again
  kBug = 70,           // shoal is wrong
  kStuck = 71,         // a thread of this rank made no progress until the deadline
  kStorage = 74,       // a file system has no space or fails: that may pass
  kRequeue = 75,       // a peer or the network is gone: start the job again
  kNoProgress = 76,  // it was started again and again, and always failed before the next checkpoint
};

constexpr int kSignalExitBase = 128;

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ExitCode exit_code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

class DataError : public Error {
 public:
  // kStorage is the other code: nothing is wrong with the file itself.
  explicit DataError(const std::string& message, ExitCode code = ExitCode::kData)
      : Error(code, message) {}
};

class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& message) : Error(ExitCode::kRequeue, message) {}
};

class BugError : public Error {
 public:
  explicit BugError(const std::string& message) : Error(ExitCode::kBug, message) {}
};

// Returns the first line of an error's message: libraries append a backtrace, which helps nobody
// who did not write them.
std::string first_line(const std::exception& error);

// "No space left on device (errno 28)"
std::string describe_errno(int error_number);

[[noreturn]] void throw_bug(const char* file,
                            int line,
                            const char* condition,
                            const std::string& message);

}  // namespace shoal

// States an invariant that the code around it relies on; throws BugError when it does not hold.
// User input deserves a typed error instead.
#define SHOAL_CHECK(condition, ...)                                                     \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      ::shoal::throw_bug(__FILE__, __LINE__, #condition, ::shoal::format(__VA_ARGS__)); \
    }                                                                                   \
  } while (false)
