// Megatron's pair of files. The .bin has ids alone. The .idx, little-endian and without padding:
//
//   "MMIDIDX\0\0"  uint64 version = 1  uint8 type  uint64 sequences  uint64 borders
//   int32 length[sequences]      in ids
//   int64 offset[sequences]      in bytes of the .bin
//   int64 border[borders]        document d has the sequences border[d] to border[d + 1]
//   int8 mode[sequences]         only in files that mix text with other things; 0 is text

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/data/token_files/token_ids.h"

namespace shoal::data {
namespace {

using Status = TokenFile::Status;

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);

// Numbers one behind the other, at any address.
template <class Number>
class NumberArray {
 public:
  NumberArray() = default;
  explicit NumberArray(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] uint64_t size() const { return bytes_.size() / sizeof(Number); }
  Number operator[](uint64_t i) const {
    return number_at<Number>(bytes_.data() + i * sizeof(Number));
  }

 private:
  std::string_view bytes_;
};

// Takes one thing after another from the front of the index.
class IndexCursor {
 public:
  explicit IndexCursor(const NamedBytes& index) : index_(index), rest_(index.bytes) {}

  template <class Number>
  Number number(const char* what) {
    return array<Number>(1, what)[0];
  }

  template <class Number>
  NumberArray<Number> array(uint64_t count, const char* what) {
    if (count > rest_.size() / sizeof(Number)) {
      throw DataError(
          format("{} ends inside its {}: {} of {} bytes each are expected, and {} bytes are left",
                 index_.name, what, count, sizeof(Number), rest_.size()));
    }
    const NumberArray<Number> numbers(rest_.substr(0, count * sizeof(Number)));
    rest_.remove_prefix(count * sizeof(Number));
    return numbers;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  const NamedBytes& index_;
  std::string_view rest_;
};

struct Index {
  IdType type = IdType::kUint16;
  NumberArray<int32_t> lengths;
  NumberArray<int64_t> offsets;
  NumberArray<int64_t> borders;
  NumberArray<int8_t> modes;
};

IdType type_of(uint8_t code, const std::string& name) {
  switch (code) {
    case 1:
      return IdType::kUint8;
    case 2:
      return IdType::kInt8;
    case 3:
      return IdType::kInt16;
    case 4:
      return IdType::kInt32;
    case 5:
      return IdType::kInt64;
    case 6:
    case 7:
      throw DataError(format(
          "{} says that its numbers are floating point (type {}): they are no ids", name, code));
    case 8:
      return IdType::kUint16;
    default:
      throw DataError(
          format("{} has numbers of type {}, but Megatron has types 1 to 8 only", name, code));
  }
}

Index parse(const NamedBytes& index) {
  if (!index.bytes.starts_with(kMagic)) {
    throw DataError(
        format("{} does not begin with MMIDIDX: it is no index of Megatron's, or of a form that "
               "Megatron itself no longer reads",
               index.name));
  }
  IndexCursor cursor(index);
  (void)cursor.array<char>(kMagic.size(), "magic");
  const auto version = cursor.number<uint64_t>("version");
  if (version != 1)
    throw DataError(format("{} has version {}, but only 1 is known", index.name, version));
  Index parsed;
  parsed.type = type_of(cursor.number<uint8_t>("type"), index.name);
  const auto sequences = cursor.number<uint64_t>("number of sequences");
  const auto borders = cursor.number<uint64_t>("number of document borders");
  parsed.lengths = cursor.array<int32_t>(sequences, "lengths of sequences");
  parsed.offsets = cursor.array<int64_t>(sequences, "offsets of sequences");
  parsed.borders = cursor.array<int64_t>(borders, "document borders");
  if (!cursor.rest().empty()) parsed.modes = cursor.array<int8_t>(sequences, "modes of sequences");
  if (!cursor.rest().empty()) {
    throw DataError(
        format("{} has {} bytes behind its end: it is damaged", index.name, cursor.rest().size()));
  }
  return parsed;
}

bool lies_inside(int32_t length, int64_t offset, uint64_t id_bytes, uint64_t available) {
  if (length < 0 || offset < 0 || static_cast<uint64_t>(offset) % id_bytes != 0) return false;
  const uint64_t first = static_cast<uint64_t>(offset) / id_bytes;
  return first <= available && static_cast<uint64_t>(length) <= available - first;
}

// All sequences lie inside the .bin. Together they are not larger than it: an index that named the
// same ids again and again would make any amount of data of a small file. Returns how many ids they
// have.
uint64_t check_sequences(const Index& index, const std::string& name, const NamedBytes& file) {
  const uint64_t id_bytes = bytes_of(index.type);
  const uint64_t available = file.bytes.size() / id_bytes;
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < index.lengths.size(); ++i) {
    const int32_t length = index.lengths[i];
    const int64_t offset = index.offsets[i];
    if (!lies_inside(length, offset, id_bytes, available)) {
      throw DataError(
          format("{} has {} ids of {} bytes from byte {} on for sequence {}, but {} has {} bytes: "
                 "one is damaged, or they do not belong together",
                 name, length, id_bytes, offset, i, file.name, file.bytes.size()));
    }
    tokens += static_cast<uint64_t>(length);
    if (tokens > available) {
      throw DataError(
          format("{} has more ids in its sequences than the {} in {}: sequences overlap", name,
                 available, file.name));
    }
  }
  return tokens;
}

void check_modes(const Index& index, const std::string& name) {
  for (uint64_t i = 0; i < index.modes.size(); ++i) {
    if (index.modes[i] != 0) {
      throw DataError(format("{} has mode {} for sequence {}, but only text, mode 0, can be read",
                             name, index.modes[i], i));
    }
  }
}

void check_borders(const Index& index, const std::string& name) {
  const NumberArray<int64_t>& borders = index.borders;
  const uint64_t sequences = index.lengths.size();
  if (borders.size() == 0) {
    throw DataError(format("{} has no document borders, not even the first", name));
  }
  if (borders[0] != 0) {
    throw DataError(
        format("{} has its first document begin at sequence {} instead of 0", name, borders[0]));
  }
  for (uint64_t i = 1; i < borders.size(); ++i) {
    if (borders[i] < borders[i - 1]) {
      throw DataError(format("{} has document {} end at sequence {}, before it begins at {}", name,
                             i - 1, borders[i], borders[i - 1]));
    }
  }
  if (static_cast<uint64_t>(borders[borders.size() - 1]) != sequences) {
    throw DataError(
        format("{} has its last document end at sequence {}, but there are {} sequences", name,
               borders[borders.size() - 1], sequences));
  }
}

class MegatronReader : public TokenFileReader {
 public:
  MegatronReader(const Index& index, const TokenIds& ids, uint64_t tokens)
      : index_(index), ids_(ids), tokens_(tokens) {}

  [[nodiscard]] uint64_t tokens() const override { return tokens_; }

  Status next(size_t max_tokens, std::vector<TokenId>& ids) override {
    if (document_ + 1 == index_.borders.size()) return Status::kEnd;
    uint64_t wanted = max_tokens;
    for (uint64_t left = left_in_sequence(); left > 0 && wanted > 0; left = left_in_sequence()) {
      const uint64_t count = std::min(left, wanted);
      const uint64_t first =
          static_cast<uint64_t>(index_.offsets[sequence_]) / bytes_of(index_.type);
      ids_.append(first + in_sequence_, count, ids);
      in_sequence_ += count;
      wanted -= count;
    }
    if (left_in_sequence() > 0) return Status::kMore;
    ++document_;
    return Status::kDocumentEnds;
  }

 private:
  // Moves to the first sequence of this document with tokens left and returns how many; 0 when none
  // has.
  uint64_t left_in_sequence() {
    const auto end = static_cast<uint64_t>(index_.borders[document_ + 1]);
    for (; sequence_ < end; ++sequence_, in_sequence_ = 0) {
      const auto length = static_cast<uint64_t>(index_.lengths[sequence_]);
      if (in_sequence_ < length) return length - in_sequence_;
    }
    return 0;
  }

  Index index_;
  TokenIds ids_;
  uint64_t tokens_;
  uint64_t document_ = 0;
  uint64_t sequence_ = 0;
  uint64_t in_sequence_ = 0;
};

}  // namespace

std::unique_ptr<TokenFileReader> read_megatron(const NamedBytes& index,
                                               const NamedBytes& file,
                                               const TokenFileOptions& options) {
  const Index parsed = parse(index);
  const uint64_t tokens = check_sequences(parsed, index.name, file);
  check_borders(parsed, index.name);
  check_modes(parsed, index.name);
  return std::make_unique<MegatronReader>(parsed, TokenIds(file, parsed.type, options.vocab_size),
                                          tokens);
}

}  // namespace shoal::data
