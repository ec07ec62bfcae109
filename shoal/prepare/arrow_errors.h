// arrow_errors.h -- turns Arrow's errors into DataError. Private to prepare/.
#pragma once

#include <string>

#include <arrow/result.h>
#include <arrow/status.h>

#include "shoal/core/error.h"

namespace shoal::prepare {

// Throws DataError unless the status is ok. `what` names the file: "reading corpus/a.parquet".
inline void must(const arrow::Status& status, const std::string& what) {
  if (status.ok()) return;
  std::string why;
  if (status.detail()) {
    why = ": " + status.detail()->ToString();
  } else if (what.starts_with("reading ")) {  // and not a disk or network that failed
    why = "; it is damaged, or not what its name says";
  }
  throw DataError(format("{}: {}{}", what, status.message(), why));
}

template <class T>
T must(arrow::Result<T> result, const std::string& what) {
  must(result.status(), what);
  return std::move(result).ValueUnsafe();
}

}  // namespace shoal::prepare
