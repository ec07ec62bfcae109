// file_error.h -- what a file system says when a call fails, as an error of ours.
//
//   std::filesystem::rename(from, to, error);
//   if (error) throw_file_error("rename", from, error);   // DataError: "cannot rename PATH: Stale file handle (errno 116)"
//
// Some failures say nothing about the file: no space, a server that is away. The same call may succeed
// later, or on another host; a job that meets one is started again.
#pragma once

#include <filesystem>
#include <system_error>

#include "shoal/core/error.h"

namespace shoal {

// Returns kStorage for an errno that may pass, else kData.
ExitCode exit_code_of_file_error(int error_number);

// Throws a DataError with that exit code.
[[noreturn]] void throw_file_error(const char* verb,
                                   const std::filesystem::path& path,
                                   std::error_code error);

}  // namespace shoal
