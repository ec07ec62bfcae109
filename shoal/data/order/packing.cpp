#include "shoal/data/order/packing.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Numbers of [0, limit), for the smallest one from a given number on. A bit for each, and above
// that a bit for each word of the level below that is not zero, up to a single word.
class NumberSet {
 public:
  explicit NumberSet(size_t limit) {
    for (size_t size = limit;;) {
      size = (size + 63) / 64;
      levels_.emplace_back(size, 0);
      if (size <= 1) return;
    }
  }

  void add(size_t number) {
    for (std::vector<uint64_t>& level : levels_) {
      level[number / 64] |= uint64_t{1} << (number % 64);
      number /= 64;
    }
  }

  void remove(size_t number) {
    for (std::vector<uint64_t>& level : levels_) {
      level[number / 64] &= ~(uint64_t{1} << (number % 64));
      if (level[number / 64] != 0) return;
      number /= 64;
    }
  }

  // kNone if there is none.
  [[nodiscard]] uint32_t at_least(size_t number) const {
    for (size_t height = 0; height < levels_.size(); ++height) {
      const std::vector<uint64_t>& level = levels_[height];
      if (number / 64 >= level.size()) return kNone;
      const uint64_t word = level[number / 64] >> (number % 64);
      if (word != 0)
        return lowest_below(height, number + static_cast<size_t>(std::countr_zero(word)));
      number = number / 64 + 1;  // nothing in the rest of this word: look for a later one, above
    }
    return kNone;
  }

 private:
  [[nodiscard]] uint32_t lowest_below(size_t height, size_t number) const {
    for (; height > 0; --height)
      number = number * 64 + static_cast<size_t>(std::countr_zero(levels_[height - 1][number]));
    return static_cast<uint32_t>(number);
  }

  std::vector<std::vector<uint64_t>> levels_;
};

// Sequences with room, by how much. A queue for each amount, so that of documents of two lengths
// that fit together the first goes with the first: neighbours stay near.
class OpenSequences {
 public:
  explicit OpenSequences(uint32_t capacity)
      : rooms_(size_t{capacity} + 1),
        first_(size_t{capacity} + 1, kNone),
        last_(size_t{capacity} + 1, kNone) {}

  void add(uint32_t sequence, uint32_t room) {
    if (next_.size() <= sequence) next_.resize(size_t{sequence} + 1);
    next_[sequence] = kNone;
    if (first_[room] == kNone) {
      first_[room] = sequence;
      rooms_.add(room);
    } else {
      next_[last_[room]] = sequence;
    }
    last_[room] = sequence;
  }

  // The smallest room for `length`; kNone if there is none.
  [[nodiscard]] uint32_t best_room(uint32_t length) const { return rooms_.at_least(length); }

  uint32_t take(uint32_t room) {
    const uint32_t sequence = first_[room];
    first_[room] = next_[sequence];
    if (first_[room] == kNone) rooms_.remove(room);
    return sequence;
  }

 private:
  NumberSet rooms_;
  std::vector<uint32_t> first_;  // by room
  std::vector<uint32_t> last_;   // by room, where there is a first
  std::vector<uint32_t> next_;   // by sequence
};

std::vector<Segment> cut(std::span<const uint64_t> document_ends, uint32_t capacity) {
  std::vector<Segment> segments;
  segments.reserve(document_ends.size());
  uint64_t first = 0;
  for (const uint64_t end : document_ends) {
    if (end < first)
      throw DataError(
          format("a document ends at token {}, before its beginning at {}", end, first));
    while (first < end) {
      const auto length = static_cast<uint32_t>(std::min<uint64_t>(capacity, end - first));
      segments.push_back({first, length});
      first += length;
    }
  }
  if (segments.size() >= kNone)
    throw DataError(format("{} segments of {} tokens in one shard: more than 2^32 - 1",
                           segments.size(), capacity));
  return segments;
}

// Numbers of the segments, the longest first and of equals the earlier: a counting sort.
std::vector<uint32_t> by_falling_length(std::span<const Segment> segments, uint32_t capacity) {
  std::vector<uint32_t> next(size_t{capacity} + 1);  // by capacity - length
  for (const Segment& segment : segments) ++next[capacity - segment.length];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
  std::vector<uint32_t> order(segments.size());
  for (uint32_t i = 0; i < segments.size(); ++i) order[next[capacity - segments[i].length]++] = i;
  return order;
}

struct Assignment {
  std::vector<uint32_t> sequence_of;  // by segment
  uint32_t sequences = 0;
};

Assignment assign(std::span<const Segment> segments, uint32_t capacity) {
  Assignment result{std::vector<uint32_t>(segments.size())};
  OpenSequences open(capacity);
  for (const uint32_t i : by_falling_length(segments, capacity)) {
    const uint32_t length = segments[i].length;
    uint32_t room = open.best_room(length);
    const uint32_t sequence = room == kNone ? result.sequences++ : open.take(room);
    if (room == kNone) room = capacity;
    if (room > length) open.add(sequence, room - length);
    result.sequence_of[i] = sequence;
  }
  return result;
}

}  // namespace

Packing pack_best_fit(std::span<const uint64_t> document_ends, uint32_t capacity) {
  if (capacity == 0) throw UsageError("sequences of 0 tokens: must be 1 or more");
  const std::vector<Segment> segments = cut(document_ends, capacity);
  const auto [sequence_of, sequences] = assign(segments, capacity);

  // Sequences in the order in which the shard first comes to them.
  std::vector<uint32_t> place_of(sequences, kNone);
  std::vector<uint32_t> next(sequences, 0);
  uint32_t places = 0;
  for (const uint32_t sequence : sequence_of) {
    if (place_of[sequence] == kNone) place_of[sequence] = places++;
    ++next[place_of[sequence]];
  }
  std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
  Packing packing{.sequence_ends = {}, .segments = std::vector<Segment>(segments.size())};
  for (size_t i = 0; i < segments.size(); ++i)
    packing.segments[next[place_of[sequence_of[i]]]++] = segments[i];
  packing.sequence_ends = std::move(next);  // each has been moved to its end
  return packing;
}

}  // namespace shoal::data
