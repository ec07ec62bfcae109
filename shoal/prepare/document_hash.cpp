#include "shoal/prepare/document_hash.h"

namespace shoal::prepare {
namespace {

std::string_view bytes_of(const data::Document& piece) {
  if (piece.ids.empty()) return piece.text;
  return {reinterpret_cast<const char*>(piece.ids.data()), piece.ids.size_bytes()};
}

std::string_view flags_of(const data::Document& piece) {
  return {reinterpret_cast<const char*>(piece.trained_on.data()), piece.trained_on.size()};
}

uint64_t seed_of(const data::Document& first_piece) {
  return first_piece.prompt.empty() ? 0 : xxh3_64(first_piece.prompt);
}

}  // namespace

void DocumentHash::add(const data::Document& piece) {
  if (piece.begins) {
    content_.restart(seed_of(piece));
    flags_.restart();
    has_flags_ = false;
  }
  content_.add(bytes_of(piece));
  flags_.add(flags_of(piece));
  has_flags_ = has_flags_ || !piece.trained_on.empty();
}

Hash128 DocumentHash::value() const {
  const Hash128 content = content_.hash();
  if (!has_flags_) return content;
  const Hash128 flags = flags_.hash();
  return {content.low ^ flags.high, content.high ^ flags.low};
}

Hash128 hash_of_head(const data::Document& first_piece) {
  return xxh3_128(bytes_of(first_piece).substr(0, data::kHeadBytes), seed_of(first_piece));
}

}  // namespace shoal::prepare
