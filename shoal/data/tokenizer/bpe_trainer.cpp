#include "shoal/data/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <unordered_map>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/readers.h"
#include "shoal/data/tokenizer/unicode.h"

namespace shoal::data {
namespace {

struct Pair {
  TokenId left;
  TokenId right;

  [[nodiscard]] uint64_t key() const { return uint64_t{left} << 32U | right; }
  bool operator==(const Pair& other) const { return key() == other.key(); }
  bool operator<(const Pair& other) const { return key() < other.key(); }
};

struct PairHash {
  size_t operator()(const Pair& pair) const {
    return static_cast<size_t>((pair.key() ^ pair.key() >> 29U) * 0x9E3779B97F4A7C15U);
  }
};

// A piece as the tokens it consists of so far.
struct Word {
  uint32_t first;  // in tokens_
  uint32_t size;
  int64_t count;
};

struct PairInfo {
  int64_t count = 0;
  std::vector<uint32_t> words;  // where it occurs, or did; ascending, some twice
};

class Trainer {
 public:
  Trainer(const PieceCounts& counts, const BpeTrainOptions& options) : options_(options) {
    number_bytes();
    read_words(counts);
    count_pairs();
  }

  TokenizerParts train() {
    while (next_id_ < options_.vocab_size) {
      const std::optional<Pair> best = take_best();
      if (!best) break;
      merge_everywhere(*best);
    }
    return std::move(parts_);
  }

 private:
  // A pair and the count it had when it was put into the heap.
  struct Candidate {
    int64_t count;
    Pair pair;
  };

  void number_bytes() {
    const size_t needed = options_.added.size() + 256;
    if (options_.vocab_size < needed) {
      throw UsageError(format(
          "a vocabulary of {} has no room for 256 bytes and {} added tokens: make it {} or more",
          options_.vocab_size, options_.added.size(), needed));
    }
    parts_.pattern = options_.pattern;
    for (const std::string& text : options_.added) {
      parts_.added.push_back({next_id_, text, true});
      ++next_id_;
    }
    std::vector<std::pair<std::string, char>> bytes;
    for (int byte = 0; byte < 256; ++byte) {
      const char letter = static_cast<char>(byte);
      bytes.emplace_back(printable_of_bytes({&letter, 1}), letter);
    }
    std::sort(bytes.begin(), bytes.end());
    for (const auto& [printable, letter] : bytes) {
      byte_tokens_[static_cast<unsigned char>(letter)] = next_id_;
      parts_.vocabulary.add(next_id_, {&letter, 1});
      ++next_id_;
    }
  }

  void read_words(const PieceCounts& counts) {
    for (size_t i = 0; i < counts.size(); ++i) {
      const std::string_view piece = counts.piece(i);
      SHOAL_CHECK(tokens_.size() + piece.size() < std::numeric_limits<uint32_t>::max(),
                  "{} bytes of different pieces are too many", tokens_.size() + piece.size());
      words_.push_back({static_cast<uint32_t>(tokens_.size()), static_cast<uint32_t>(piece.size()),
                        static_cast<int64_t>(counts.count(i))});
      for (const char byte : piece)
        tokens_.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
    }
  }

  void count_pairs() {
    for (uint32_t index = 0; index < words_.size(); ++index) {
      const Word& word = words_[index];
      for (uint32_t i = 0; i + 1 < word.size; ++i)
        change({tokens_[word.first + i], tokens_[word.first + i + 1]}, word.count, index);
    }
    for (const auto& [pair, info] : pairs_) push({info.count, pair});
    changed_.clear();
  }

  void change(const Pair& pair, int64_t difference, uint32_t word) {
    PairInfo& info = pairs_[pair];
    info.count += difference;
    if (difference <= 0) return;
    if (info.words.empty() || info.words.back() != word) info.words.push_back(word);
    changed_.push_back(pair);
  }

  [[nodiscard]] bool goes_later(const Candidate& a, const Candidate& b) const {
    if (a.count != b.count) return a.count < b.count;
    if (options_.tie_break == TieBreak::kSmallerIds) return b.pair < a.pair;
    const auto bytes = [this](const Pair& pair) {
      return std::pair(parts_.vocabulary.bytes_of(pair.left),
                       parts_.vocabulary.bytes_of(pair.right));
    };
    return bytes(a.pair) < bytes(b.pair);
  }

  void push(const Candidate& candidate) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(),
                   [this](const auto& a, const auto& b) { return goes_later(a, b); });
  }

  // The heap is lazy: counts only fall behind, so a candidate with an old count goes back with the new.
  std::optional<Pair> take_best() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(),
                    [this](const auto& a, const auto& b) { return goes_later(a, b); });
      const Candidate candidate = heap_.back();
      heap_.pop_back();
      const auto found = pairs_.find(candidate.pair);
      if (found == pairs_.end()) continue;
      if (found->second.count != candidate.count) {
        if (found->second.count > 0) push({found->second.count, candidate.pair});
        continue;
      }
      if (candidate.count < static_cast<int64_t>(std::max<uint64_t>(options_.min_count, 1)))
        return std::nullopt;
      return candidate.pair;
    }
    return std::nullopt;
  }

  void merge_everywhere(const Pair& pair) {
    const TokenId result = token_of(pair);
    parts_.merges.emplace_back(pair.left, pair.right);
    const std::vector<uint32_t> words = std::move(pairs_[pair].words);
    pairs_.erase(pair);
    for (const uint32_t index : words) merge_in_word(index, pair, result);
    pairs_.erase(pair);
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Pair& grown : changed_) {
      const auto found = pairs_.find(grown);
      if (found != pairs_.end() && found->second.count > 0) push({found->second.count, grown});
    }
    changed_.clear();
  }

  // Another pair may have given the same bytes before.
  TokenId token_of(const Pair& pair) {
    const std::string bytes = std::string(parts_.vocabulary.bytes_of(pair.left))
                                  .append(parts_.vocabulary.bytes_of(pair.right));
    if (const auto known = parts_.vocabulary.find(bytes)) return *known;
    parts_.vocabulary.add(next_id_, bytes);
    return next_id_++;
  }

  // From left to right, without overlap.
  void merge_in_word(uint32_t index, const Pair& pair, TokenId result) {
    Word& word = words_[index];
    TokenId* const tokens = tokens_.data() + word.first;
    uint32_t size = 0;
    for (uint32_t i = 0; i < word.size; ++i) {
      const bool here = i + 1 < word.size && tokens[i] == pair.left && tokens[i + 1] == pair.right;
      if (!here) {
        tokens[size++] = tokens[i];
        continue;
      }
      if (size > 0) {
        change({tokens[size - 1], pair.left}, -word.count, index);
        change({tokens[size - 1], result}, word.count, index);
      }
      if (i + 2 < word.size) {
        change({pair.right, tokens[i + 2]}, -word.count, index);
        change({result, tokens[i + 2]}, word.count, index);
      }
      tokens[size++] = result;
      ++i;
    }
    word.size = size;
  }

  const BpeTrainOptions& options_;
  TokenizerParts parts_;
  std::array<TokenId, 256> byte_tokens_{};
  TokenId next_id_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairInfo, PairHash> pairs_;
  std::vector<Pair> changed_;  // pairs whose count rose since the last merge
  std::vector<Candidate> heap_;
};

}  // namespace

TokenizerParts list_symbols(const PieceCounts& counts,
                            Pattern pattern,
                            const std::vector<std::string>& added) {
  std::vector<std::string_view> symbols;
  for (size_t i = 0; i < counts.size(); ++i) {
    const std::string_view piece = counts.piece(i);
    const char* const end = piece.data() + piece.size();
    if (pattern == Pattern::kWord && read_rune(piece.data(), end).kind == CharClass::kSpace)
      continue;
    for (const char* at = piece.data(); at != end;) {
      const Rune rune = read_rune(at, end);
      if (rune.bytes == 1 && static_cast<unsigned char>(*at) >= 0x80U)
        throw DataError(
            format("the text has the byte {:#04x}, which is no UTF-8: use the byte tokenizer",
                   static_cast<unsigned char>(*at)));
      at += rune.bytes;
    }
    symbols.push_back(piece);
  }
  std::sort(symbols.begin(), symbols.end());
  TokenizerParts parts;
  parts.closed = true;
  parts.pattern = pattern;
  TokenId id = 0;
  for (const std::string_view symbol : symbols) parts.vocabulary.add(id++, symbol);
  for (const std::string& text : added) parts.added.push_back({id++, text, true});
  return parts;
}

TokenizerParts train_bpe(const PieceCounts& counts, const BpeTrainOptions& options) {
  return Trainer(counts, options).train();
}

}  // namespace shoal::data
