// token_documents.h -- documents in files of token ids that other systems wrote (token_files/).
#pragma once

#include <memory>
#include <optional>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

struct TokenDocumentOptions {
  uint32_t vocab_size = 0;  // ids are below
  // What stands between documents. It is no part of them: whoever writes the documents on ends each in
  // his own way. Without it nothing is left out, and only Megatron's files have several documents.
  std::optional<data::TokenId> end_of_document;
  size_t piece_ids = size_t{1} << 20;  // longer documents come in pieces
};

// `file` is local: token files are mapped. Documents without ids are nothing.
std::unique_ptr<data::DocumentReader> read_tokens(const InputFile& file,
                                                  const TokenDocumentOptions& options);

}  // namespace shoal::prepare
