#include "shoal/data/token_files/token_ids.h"

#include <bit>
#include <utility>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

static_assert(std::endian::native == std::endian::little);

// Calls `action` with a zero of the type.
template <class Action>
auto with_type(IdType type, Action action) {
  switch (type) {
    case IdType::kUint8:
      return action(uint8_t{});
    case IdType::kInt8:
      return action(int8_t{});
    case IdType::kUint16:
      return action(uint16_t{});
    case IdType::kInt16:
      return action(int16_t{});
    case IdType::kUint32:
      return action(uint32_t{});
    case IdType::kInt32:
      return action(int32_t{});
    case IdType::kUint64:
      return action(uint64_t{});
    case IdType::kInt64:
      break;
  }
  return action(int64_t{});
}

// A negative number becomes a huge one, which is below no vocabulary's size.
template <class Number>
uint64_t value_at(const char* first, uint64_t position) {
  return static_cast<uint64_t>(number_at<Number>(first + position * sizeof(Number)));
}

}  // namespace

size_t bytes_of(IdType type) {
  return with_type(type, [](auto zero) { return sizeof(zero); });
}

TokenIds::TokenIds(NamedBytes file, IdType type, uint32_t vocab_size)
    : file_(std::move(file)), type_(type), vocab_size_(vocab_size) {
  if (file_.bytes.size() % bytes_of(type_) != 0) {
    throw DataError(
        format("{} has {} bytes of ids, which is no whole number of ids of {} bytes: cut off, or "
               "another format",
               file_.name, file_.bytes.size(), bytes_of(type_)));
  }
}

void TokenIds::append(uint64_t first, uint64_t count, std::vector<TokenId>& ids) const {
  SHOAL_CHECK(first <= size() && count <= size() - first, "ids {} + {} of {}", first, count,
              size());
  const size_t before = ids.size();
  ids.resize(before + count);
  TokenId* const out = ids.data() + before;
  with_type(type_, [&](auto zero) {
    using Number = decltype(zero);
    const char* const in = file_.bytes.data() + first * sizeof(Number);
    // No branch in this loop, so that it becomes vector code; which id is wrong is found later.
    bool wrong = false;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t value = value_at<Number>(in, i);
      wrong |= value >= vocab_size_;
      out[i] = static_cast<TokenId>(value);
    }
    if (!wrong) return;
    for (uint64_t i = 0; i < count; ++i) {
      if (value_at<Number>(in, i) >= vocab_size_) refuse(first + i, value_at<Number>(in, i));
    }
  });
}

std::optional<uint64_t> TokenIds::find(TokenId id, uint64_t first, uint64_t end) const {
  return with_type(type_, [&](auto zero) -> std::optional<uint64_t> {
    for (uint64_t i = first; i < end; ++i) {
      if (value_at<decltype(zero)>(file_.bytes.data(), i) == id) return i;
    }
    return std::nullopt;
  });
}

void TokenIds::refuse(uint64_t position, uint64_t value) const {
  const bool is_signed = type_ == IdType::kInt8 || type_ == IdType::kInt16 ||
                         type_ == IdType::kInt32 || type_ == IdType::kInt64;
  if (is_signed && static_cast<int64_t>(value) < 0) {
    throw DataError(format("id {} at token {} of {} is negative: the file is damaged",
                           static_cast<int64_t>(value), position, file_.name));
  }
  throw DataError(format(
      "id {} at token {} of {} is not below the vocabulary's {}: the file belongs to another "
      "tokenizer or has another format",
      value, position, file_.name, vocab_size_));
}

}  // namespace shoal::data
