#include "shoal/prepare/token_documents.h"

#include "shoal/core/error.h"
#include "shoal/data/token_files/token_file.h"

namespace shoal::prepare {
namespace {

using data::TokenFile;
using data::TokenFormat;
using data::TokenId;

TokenFormat format_of(const InputFile& file) {
  SHOAL_CHECK(file.is_local(), "{} cannot be mapped", file.name);
  const std::optional<TokenFormat> format = data::token_format_of(file.path);
  SHOAL_CHECK(format.has_value(), "{} was taken for a token file", file.name);
  return *format;
}

class TokenDocuments : public data::DocumentReader {
 public:
  TokenDocuments(const InputFile& file, const TokenDocumentOptions& options)
      : options_(options),
        file_(file.path,
              {.format = format_of(file),
               .vocab_size = options.vocab_size,
               .mark = mark_of(options)}) {}

  bool next(data::Document& document) override {
    while (true) {
      ids_.clear();
      const TokenFile::Status part = file_.next(options_.piece_ids, ids_);
      if (part == TokenFile::Status::kEnd) return false;
      const bool begins = begins_;
      begins_ = part == TokenFile::Status::kDocumentEnds;
      const std::span<const TokenId> ids = without_mark(begins_);
      if (begins && ids.empty()) continue;  // all of it was the mark
      document = {.ids = ids, .begins = begins, .ends = begins_};
      return true;
    }
  }

 private:
  // Files that begin each document with the mark are cut behind it all the same: what stands between
  // two marks is a document, and those that hold nothing else vanish.
  static std::optional<data::DocumentMark> mark_of(const TokenDocumentOptions& options) {
    if (!options.end_of_document) return std::nullopt;
    return data::DocumentMark{*options.end_of_document, data::MarkPlace::kLast};
  }

  // A file may end within a document, and Megatron's need no mark: then it is not there.
  [[nodiscard]] std::span<const TokenId> without_mark(bool ends) const {
    const std::span<const TokenId> ids = ids_;
    const bool marked = ends && !ids.empty() && options_.end_of_document == ids.back();
    return ids.first(ids.size() - (marked ? 1 : 0));
  }

  const TokenDocumentOptions options_;
  TokenFile file_;
  std::vector<TokenId> ids_;
  bool begins_ = true;  // the next piece
};

}  // namespace

std::unique_ptr<data::DocumentReader> read_tokens(const InputFile& file,
                                                  const TokenDocumentOptions& options) {
  return std::make_unique<TokenDocuments>(file, options);
}

}  // namespace shoal::prepare
