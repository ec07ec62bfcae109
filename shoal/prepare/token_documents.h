// token_documents.h -- documents in files of token ids that other systems wrote (token_files/).
#pragma once

#include <memory>
#include <optional>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

struct TokenDocumentOptions {
  uint32_t vocab_size = 0;  // ids must be below it
  // The id between documents. It is not part of them: the writer of the documents ends each in its
  // own way. Without it nothing is left out, and only Megatron's files have several documents.
  std::optional<data::TokenId> end_of_document;
  size_t piece_ids = data::kHeadBytes / sizeof(data::TokenId);  // longer documents come in pieces
};

// `file` must be local: token files are mapped. Documents without ids are skipped.
std::unique_ptr<data::DocumentReader> read_tokens(const InputFile& file,
                                                  const TokenDocumentOptions& options);

}  // namespace shoal::prepare
