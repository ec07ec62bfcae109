#include "shoal/prepare/token_rows.h"

#include <algorithm>

#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

#include "shoal/core/error.h"

namespace shoal::prepare {
namespace {

// A row of a column of lists: its values are those from `first` to `end`.
struct ListRow {
  const arrow::Array* values = nullptr;  // null: the column holds no lists
  int64_t first = 0;
  int64_t end = 0;
};

template <class List>
ListRow row_of_lists(const arrow::Array& column, int64_t row) {
  const auto& lists = static_cast<const List&>(column);
  const int64_t first = lists.value_offset(row);
  return {lists.values().get(), first,
          column.IsNull(row) ? first : first + lists.value_length(row)};
}

ListRow list_row_of(const arrow::Array& column, int64_t row) {
  if (column.type_id() == arrow::Type::LIST) return row_of_lists<arrow::ListArray>(column, row);
  if (column.type_id() == arrow::Type::LARGE_LIST)
    return row_of_lists<arrow::LargeListArray>(column, row);
  return {};
}

}  // namespace

void refuse_column(const std::string& file,
                   const std::string& field,
                   const arrow::DataType& type,
                   const std::string& wanted) {
  throw DataError(
      format("{}: column '{}' is {}, but must hold {}", file, field, type.ToString(), wanted));
}

bool TokenRows::read(const arrow::RecordBatch& batch, int64_t row) {
  ids_.clear();
  trained_on_.clear();
  const arrow::Array& text = *batch.column(0);
  if (text.IsNull(row)) return false;
  const bool has_flags = !fields_.prompt.empty() && add_flags(*batch.column(1), row);
  if (!fields_.prompt.empty() && !has_flags) {
    add_ids(*batch.column(1), row, fields_.prompt,
            format("lists of ids, as '{}' does, or of booleans", fields_.text));
  }
  const size_t prompt = ids_.size();
  add_ids(text, row, fields_.text, "texts or lists of ids");
  if (has_flags && trained_on_.size() != ids_.size()) {
    throw DataError(format("{}: a row has {} ids in '{}', but {} booleans in '{}'", file_,
                           ids_.size(), fields_.text, trained_on_.size(), fields_.prompt));
  }
  if (prompt > 0) {
    trained_on_.assign(ids_.size(), 1);
    std::fill_n(trained_on_.begin(), prompt, uint8_t{0});
  }
  return ids_.size() > prompt;
}

void TokenRows::add_ids(const arrow::Array& column,
                        int64_t row,
                        const std::string& field,
                        const std::string& wanted) {
  const auto [values, first, end] = list_row_of(column, row);
  switch (values == nullptr ? arrow::Type::NA : values->type_id()) {
    case arrow::Type::UINT8:
      return add_numbers<arrow::UInt8Array>(*values, first, end, field);
    case arrow::Type::UINT16:
      return add_numbers<arrow::UInt16Array>(*values, first, end, field);
    case arrow::Type::INT16:
      return add_numbers<arrow::Int16Array>(*values, first, end, field);
    case arrow::Type::UINT32:
      return add_numbers<arrow::UInt32Array>(*values, first, end, field);
    case arrow::Type::INT32:
      return add_numbers<arrow::Int32Array>(*values, first, end, field);
    case arrow::Type::UINT64:
      return add_numbers<arrow::UInt64Array>(*values, first, end, field);
    case arrow::Type::INT64:
      return add_numbers<arrow::Int64Array>(*values, first, end, field);
    default:
      refuse_column(file_, field, *column.type(), wanted);
  }
}

template <class Values>
void TokenRows::add_numbers(const arrow::Array& values,
                            int64_t first,
                            int64_t end,
                            const std::string& field) {
  const auto& numbers = static_cast<const Values&>(values);
  for (int64_t at = first; at < end; ++at) {
    // A negative number is a huge one.
    const auto id = static_cast<uint64_t>(numbers.Value(at));
    if (id >= vocab_size_ || numbers.IsNull(at))
      throw DataError(format("{}: a list in '{}' holds an id that is not below the vocabulary's {}",
                             file_, field, vocab_size_));
    ids_.push_back(static_cast<data::TokenId>(id));
  }
}

// Returns whether the column holds lists of booleans.
bool TokenRows::add_flags(const arrow::Array& column, int64_t row) {
  const auto [values, first, end] = list_row_of(column, row);
  if (values == nullptr || values->type_id() != arrow::Type::BOOL) return false;
  const auto& flags = static_cast<const arrow::BooleanArray&>(*values);
  for (int64_t at = first; at < end; ++at) {
    if (flags.IsNull(at))
      throw DataError(format("{}: a list in '{}' holds a null", file_, fields_.prompt));
    trained_on_.push_back(flags.Value(at) ? 1 : 0);
  }
  return true;
}

}  // namespace shoal::prepare
