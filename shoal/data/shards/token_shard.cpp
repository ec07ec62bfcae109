#include "shoal/data/shards/token_shard.h"

#include <algorithm>
#include <cstring>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"

namespace shoal::data {
namespace {

// The largest of some ids in a file; 0 of none.
template <class Id>
uint32_t largest(const char* bytes, size_t count) {
  const auto* ids = reinterpret_cast<const Id*>(bytes);
  Id most = 0;
  for (size_t i = 0; i < count; ++i) most = std::max(most, ids[i]);
  return most;
}

template <class Id>
void widen(const char* bytes, size_t count, int32_t* to) {
  const auto* ids = reinterpret_cast<const Id*>(bytes);
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<int32_t>(ids[i]);
}

constexpr const char* kWayOut = "give the same `shoal prepare` again, which makes that part anew";

MappedFile mapped(const std::filesystem::path& path) {
  try {
    return MappedFile(path);
  } catch (const DataError& error) {
    throw DataError(format("{}: {}", error.what(), kWayOut));
  }
}

}  // namespace

TokenShard::TokenShard(const std::filesystem::path& directory,
                       Split split,
                       const TokenLayout& layout,
                       const ShardEntry& entry)
    : path_(directory / entry.file),
      part_(directory / part_file(entry.part)),
      layout_(layout),
      shard_(read_shard_blocks(directory, split, entry)),
      file_(mapped(path_)) {
  if (file_.bytes().size() != shard_.bytes) {
    throw DataError(format("{} has {} bytes, but was prepared with {}: it was cut or replaced; {}",
                           path_.string(), file_.bytes().size(), shard_.bytes, kWayOut));
  }
  first_tokens_.push_back(0);
  for (const Block& block : shard_.blocks) {
    check_places(block);
    first_tokens_.push_back(first_tokens_.back() + block.tokens);
  }
  checked_ = std::make_unique<std::atomic<bool>[]>(shard_.blocks.size());
}

void TokenShard::check_places(const Block& block) const {
  const auto inside = [&](uint64_t place, uint64_t bytes, uint64_t alignment) {
    return place >= block.at && place % alignment == 0 && bytes <= block.bytes &&
           place - block.at <= block.bytes - bytes;
  };
  const bool whole = block.bytes <= shard_.bytes && block.at <= shard_.bytes - block.bytes;
  const uint64_t width = layout_.token_bytes();
  if (!whole || !inside(block.tokens_at, block.tokens * width, width) ||
      !inside(block.ends_at, (uint64_t{block.rows} + 1) * sizeof(int32_t), sizeof(int32_t)) ||
      (layout_.loss_mask && !inside(block.mask_at, (uint64_t{block.tokens} + 7) / 8, 1)))
    refuse(block, "lies outside of its file");
}

void TokenShard::check_content(const Block& block) const {
  if (crc32c({at(block.at), block.bytes}) != block.crc32c)
    refuse(block, format("is damaged: its checksum is another; remove {}, and {}", part_.string(),
                         kWayOut));
  const std::span<const int32_t> ends = ends_of(block);
  if (ends.front() != 0 || !std::is_sorted(ends.begin(), ends.end()) ||
      static_cast<uint32_t>(ends.back()) != block.tokens)
    refuse(block, "has documents that do not follow each other");
  const uint32_t most = layout_.token_bytes() == 2
                            ? largest<uint16_t>(at(block.tokens_at), block.tokens)
                            : largest<uint32_t>(at(block.tokens_at), block.tokens);
  if (block.tokens > 0 && most >= layout_.vocab_size)
    refuse(block, format("holds the id {}, but the vocabulary has {}", most, layout_.vocab_size));
}

void TokenShard::refuse(const Block& block, const std::string& what) const {
  throw DataError(format("{}: the block at byte {} {}", path_.string(), block.at, what));
}

std::span<const int32_t> TokenShard::ends_of(const Block& block) const {
  return {reinterpret_cast<const int32_t*>(at(block.ends_at)), size_t{block.rows} + 1};
}

template <class Use>
void TokenShard::for_each_block(uint64_t first, uint64_t count, Use use) const {
  SHOAL_CHECK(count <= tokens() && first <= tokens() - count, "tokens {} to {} of {} in {}", first,
              first + count, tokens(), path_.string());
  auto number =
      static_cast<size_t>(std::upper_bound(first_tokens_.begin(), first_tokens_.end(), first) -
                          first_tokens_.begin() - 1);
  for (; count > 0; ++number) {
    const Block& block = shard_.blocks[number];
    if (!checked_[number].load(std::memory_order_acquire)) {
      check_content(block);  // twice, when two threads come here at once
      checked_[number].store(true, std::memory_order_release);
    }
    const uint64_t within = first - first_tokens_[number];
    const uint64_t here = std::min(count, block.tokens - within);
    use(block, within, here);
    first += here;
    count -= here;
  }
}

void TokenShard::copy(uint64_t first, std::span<int32_t> to) const {
  int32_t* next = to.data();
  for_each_block(first, to.size(), [&](const Block& block, uint64_t within, uint64_t count) {
    const char* bytes = at(block.tokens_at + within * layout_.token_bytes());
    if (layout_.token_bytes() == 2) {
      widen<uint16_t>(bytes, count, next);
    } else {
      widen<uint32_t>(bytes, count, next);
    }
    next += count;
  });
}

void TokenShard::copy_mask(uint64_t first, std::span<uint8_t> to) const {
  if (!layout_.loss_mask) {
    std::fill(to.begin(), to.end(), 1);
    return;
  }
  uint8_t* next = to.data();
  for_each_block(first, to.size(), [&](const Block& block, uint64_t within, uint64_t count) {
    const auto* bits = reinterpret_cast<const uint8_t*>(at(block.mask_at));
    for (uint64_t bit = within; bit < within + count; ++bit)
      *next++ = (bits[bit / 8] >> (bit % 8)) & 1U;
  });
}

void TokenShard::append_document_lengths(uint64_t first,
                                         uint64_t count,
                                         std::vector<uint32_t>& lengths) const {
  const size_t before = lengths.size();
  for_each_block(first, count, [&](const Block& block, uint64_t within, uint64_t here) {
    const std::span<const int32_t> ends = ends_of(block);
    const auto begin = static_cast<int32_t>(within);
    const auto end = static_cast<int32_t>(within + here);
    // The document of the last block goes on in this one's first row, if that is where this begins.
    bool joins = within == 0 && block.continues && lengths.size() > before;
    auto row = std::upper_bound(ends.begin() + 1, ends.end(), begin);
    for (int32_t from = begin; from < end; ++row) {
      const int32_t to = std::min(*row, end);
      if (to == from) continue;  // a row without tokens
      const auto length = static_cast<uint32_t>(to - from);
      if (joins) {
        lengths.back() += length;
      } else {
        lengths.push_back(length);
      }
      joins = false;
      from = to;
    }
  });
}

std::vector<uint64_t> TokenShard::document_ends() const {
  std::vector<uint64_t> ends;
  uint64_t at_block = 0;
  for_each_block(0, tokens(), [&](const Block& block, uint64_t, uint64_t) {
    if (block.continues && !ends.empty()) ends.pop_back();
    for (const int32_t end : ends_of(block).subspan(1))
      ends.push_back(at_block + static_cast<uint64_t>(end));
    at_block += block.tokens;
  });
  return ends;
}

}  // namespace shoal::data
