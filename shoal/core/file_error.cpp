#include "shoal/core/file_error.h"

#include <cerrno>

namespace shoal {

ExitCode exit_code_of_file_error(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EROFS:  // what a kernel makes of a file system with errors
    case ESTALE:
    case ETIMEDOUT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return ExitCode::kStorage;
    default:
      return ExitCode::kData;
  }
}

void throw_file_error(const char* verb, const std::filesystem::path& path, std::error_code error) {
  throw DataError(format("cannot {} {}: {}", verb, path.string(), describe_errno(error.value())),
                  exit_code_of_file_error(error.value()));
}

}  // namespace shoal
