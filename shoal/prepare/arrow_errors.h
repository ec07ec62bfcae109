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
  const std::string why = status.detail() ? ": " + status.detail()->ToString() : "";
  throw DataError(format("{}: {}{}", what, status.message(), why));
}

template <class T>
T must(arrow::Result<T> result, const std::string& what) {
  must(result.status(), what);
  return std::move(result).ValueUnsafe();
}

}  // namespace shoal::prepare
