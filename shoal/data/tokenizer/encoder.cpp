#include "shoal/data/tokenizer/encoder.h"

#include <array>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/readers.h"
#include "shoal/data/tokenizer/unicode.h"

namespace shoal::data {
namespace {

constexpr size_t kBatch = 512;

}  // namespace

Encoder::Encoder(std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

void Encoder::encode(std::string_view text, std::vector<TokenId>& ids, AddedIn added) {
  if (added == AddedIn::kAsText) {
    encode_ordinary(text, ids);
    return;
  }
  tokenizer_->added().part(
      text, [&](std::string_view part) { encode_ordinary(part, ids); },
      [&](TokenId id) { ids.push_back(id); });
}

void Encoder::encode_ordinary(std::string_view text, std::vector<TokenId>& ids) {
  const char* const end = text.data() + text.size();
  std::array<const char*, kBatch> ends;
  for (const char* at = text.data(); at != end;) {
    const size_t count = next_pieces(tokenizer_->pattern(), at, end, ends);
    at = encode_batch(at, {ends.data(), count}, end, ids);
  }
}

// Known pieces are copied through a small buffer: four words each time, whether it has so many tokens
// or not, so that nothing waits for the count.
const char* Encoder::encode_batch(const char* at,
                                  std::span<const char* const> ends,
                                  const char* text_end,
                                  std::vector<TokenId>& ids) {
  std::array<TokenId, kBatch * PieceCache::kInline + 1> buffer;
  TokenId* out = buffer.data();
  for (const char* const next : ends) {
    const auto size = static_cast<size_t>(next - at);
    if (size <= PieceKey::kMaxBytes && text_end - at >= 16) [[likely]] {
      const PieceCache::Entry* entry = cache_.find(PieceKey::of_padded(at, size));
      if (entry != nullptr && entry->count() <= PieceCache::kInline) [[likely]] {
        std::memcpy(out, entry->words.data(), sizeof(entry->words));
        out += entry->count();
        at = next;
        continue;
      }
    }
    ids.insert(ids.end(), buffer.data(), out);
    out = buffer.data();
    encode_piece(at, next, text_end, ids);
    at = next;
  }
  ids.insert(ids.end(), buffer.data(), out);
  return at;
}

void Encoder::encode_piece(const char* at,
                           const char* end,
                           const char* text_end,
                           std::vector<TokenId>& ids) {
  const auto size = static_cast<size_t>(end - at);
  if (size > PieceKey::kMaxBytes) {
    merge_piece({at, size}, ids);
    return;
  }
  const PieceKey key = text_end - at >= 16 ? PieceKey::of_padded(at, size) : PieceKey::of(at, size);
  if (const PieceCache::Entry* entry = cache_.find(key)) {
    const std::span<const TokenId> tokens = cache_.tokens_of(*entry);
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    return;
  }
  const size_t before = ids.size();
  merge_piece({at, size}, ids);
  cache_.add(key, std::span(ids).subspan(before));
}

void Encoder::merge_piece(std::string_view piece, std::vector<TokenId>& ids) {
  if (tokenizer_->ignore_merges() || tokenizer_->closed()) {
    if (const auto whole = tokenizer_->vocabulary().find(piece)) {
      ids.push_back(*whole);
      return;
    }
  }
  if (tokenizer_->closed()) {
    const bool space =
        read_rune(piece.data(), piece.data() + piece.size()).kind == CharClass::kSpace;
    if (tokenizer_->pattern() == Pattern::kWord && space) return;  // only parts the words
    throw DataError(format("'{}' is none of the {} {}s of this tokenizer",
                           printable_of_bytes(piece.substr(0, 60)), tokenizer_->vocabulary().size(),
                           pattern_name(tokenizer_->pattern())));
  }
  tokenizer_->bpe().encode(piece, scratch_, ids);
}

void StreamEncoder::add(std::string_view chunk, std::vector<TokenId>& ids) {
  held_ += chunk;
  size_t at = 0;
  const AddedTokens& added = encoder_.tokenizer().added();
  while (added_ == AddedIn::kAsTokens) {
    const auto match = added.find(held_, at);
    // A longer one may begin at the same place and not be complete yet.
    if (!match || match->first >= added.open_from(held_, at)) break;
    encoder_.encode_ordinary(std::string_view(held_).substr(at, match->first - at), ids);
    ids.push_back(match->id);
    at = match->first + match->size;
  }
  held_.erase(0, at);
  const size_t known = added_ == AddedIn::kAsTokens ? added.open_from(held_, 0) : held_.size();
  const std::string_view text = std::string_view(held_).substr(0, known);
  const size_t cut = last_safe_cut(encoder_.tokenizer().pattern(), text);
  encoder_.encode_ordinary(text.substr(0, cut), ids);
  held_.erase(0, cut);
}

void StreamEncoder::finish(std::vector<TokenId>& ids) {
  encoder_.encode(held_, ids, added_);
  held_.clear();
}

}  // namespace shoal::data
