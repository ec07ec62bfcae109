#include "shoal/prepare/document_hash.h"

namespace shoal::prepare {
namespace {

std::string_view bytes_of(const data::Document& piece) {
  if (piece.ids.empty()) return piece.text;
  return {reinterpret_cast<const char*>(piece.ids.data()), piece.ids.size_bytes()};
}

uint64_t seed_of(const data::Document& first_piece) {
  return first_piece.prompt.empty() ? 0 : xxh3_64(first_piece.prompt);
}

}  // namespace

void DocumentHash::add(const data::Document& piece) {
  if (piece.begins) stream_.restart(seed_of(piece));
  stream_.add(bytes_of(piece));
}

Hash128 hash_of_head(const data::Document& first_piece) {
  return xxh3_128(bytes_of(first_piece).substr(0, data::kHeadBytes), seed_of(first_piece));
}

}  // namespace shoal::prepare
