// document_hash.h -- what documents are known by: copies have the same hash, whatever the format of
// their files and however many pieces they come in.
//
//   DocumentHash hash;
//   for (data::Document piece; reader.next(piece);) {
//     hash.add(piece);
//     if (piece.ends) use(hash.value());
//   }
#pragma once

#include "shoal/core/checksum.h"
#include "shoal/data/documents/document.h"

namespace shoal::prepare {

// The hash of all of a document: its prompt, its text or ids, and which of them are trained on.
class DocumentHash {
 public:
  void add(const data::Document& piece);  // one that begins a document forgets what was before
  [[nodiscard]] Hash128 value() const;

 private:
  Xxh3Stream content_;
  Xxh3Stream flags_;  // a piece may end anywhere, so the flags of its ids are hashed apart
  bool has_flags_ = false;
};

// Returns the hash of the document's prompt and of the first kHeadBytes of its text or ids, given
// its first piece. That of a short document without flags is the hash of all of it.
Hash128 hash_of_head(const data::Document& first_piece);

}  // namespace shoal::prepare
