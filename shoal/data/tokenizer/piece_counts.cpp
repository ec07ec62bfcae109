#include "shoal/data/tokenizer/piece_counts.h"

#include <array>
#include <mutex>
#include <utility>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/threads.h"
#include "shoal/data/tokenizer/added_tokens.h"

namespace shoal::data {
namespace {

constexpr size_t kLongestCounted = size_t{1} << 30;

void count_section(Pattern pattern, std::string_view text, PieceCounts& counts) {
  std::array<const char*, 512> ends;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const size_t found = next_pieces(pattern, at, end, ends);
    for (size_t i = 0; i < found; ++i) {
      counts.add({at, static_cast<size_t>(ends[i] - at)});
      at = ends[i];
    }
  }
}

// Cuts a stream of chunks into texts that can be counted apart.
class TextSource {
 public:
  TextSource(const CountOptions& options,
             const AddedTokens& separators,
             const NextChunk& next_chunk)
      : options_(options), separators_(separators), next_chunk_(next_chunk) {}

  // Empty at the end.
  std::string next() {
    const std::lock_guard lock(mutex_);
    while (!at_end_) {
      const std::string chunk = next_chunk_();
      if (chunk.empty()) {
        at_end_ = true;
        break;
      }
      held_ += chunk;
      const size_t cut = safe_cut();
      if (cut == 0) continue;
      std::string text = held_.substr(0, cut);
      held_.erase(0, cut);
      return text;
    }
    return std::exchange(held_, {});
  }

 private:
  [[nodiscard]] size_t safe_cut() const {
    // A separator may be cut short at the end, and ends the piece before it if it is not.
    const size_t known = separators_.open_from(held_, 0);
    size_t begin = 0;
    while (const auto match = separators_.find(held_, begin)) {
      if (match->first >= known) break;
      begin = match->first + match->size;
    }
    const std::string_view rest =
        std::string_view(held_).substr(begin, std::max(known, begin) - begin);
    return begin + last_safe_cut(options_.pattern, rest);
  }

  const CountOptions& options_;
  const AddedTokens& separators_;
  const NextChunk& next_chunk_;
  std::mutex mutex_;
  std::string held_;
  bool at_end_ = false;
};

void count_texts(TextSource& source,
                 const CountOptions& options,
                 const AddedTokens& separators,
                 PieceCounts& counts) {
  for (std::string text = source.next(); !text.empty(); text = source.next()) {
    separators.part(
        text, [&](std::string_view part) { count_section(options.pattern, part, counts); },
        [](TokenId) {});
  }
}

}  // namespace

void PieceCounts::add(std::string_view piece, uint64_t times) {
  SHOAL_CHECK(piece.size() < kLongestCounted, "a piece of {} bytes", piece.size());
  const uint64_t hash = xxh3_64(piece);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == static_cast<uint32_t>(hash) &&
        std::string_view(bytes_).substr(entry.first, entry.size) == piece) {
      entry.count += times;
      return;
    }
  }
  entries_.push_back(
      {bytes_.size(), static_cast<uint32_t>(piece.size()), static_cast<uint32_t>(hash), times});
  bytes_ += piece;
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  if (2 * entries_.size() > slots_.size()) grow();
}

void PieceCounts::grow() {
  slots_.assign(4 * slots_.size(), 0);
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    size_t slot = xxh3_64(piece(i)) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

void PieceCounts::add_all(const PieceCounts& other) {
  for (size_t i = 0; i < other.size(); ++i) add(other.piece(i), other.count(i));
}

PieceCounts count_pieces(const CountOptions& options, const NextChunk& next_chunk) {
  std::vector<AddedToken> tokens;
  for (const std::string& text : options.separators) tokens.push_back({0, text, true});
  const AddedTokens separators(std::move(tokens));
  TextSource source(options, separators, next_chunk);
  std::vector<PieceCounts> counts(static_cast<size_t>(std::max(options.threads, 1)));
  run_on_threads(static_cast<int>(counts.size()), [&](int number) {
    count_texts(source, options, separators, counts[static_cast<size_t>(number)]);
  });
  for (size_t i = 1; i < counts.size(); ++i) counts[0].add_all(counts[i]);
  return std::move(counts[0]);
}

}  // namespace shoal::data
