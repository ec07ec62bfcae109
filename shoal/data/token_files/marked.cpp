#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/data/token_files/token_ids.h"

namespace shoal::data {
namespace {

using Status = TokenFile::Status;

class MarkedReader : public TokenFileReader {
 public:
  MarkedReader(const TokenIds& ids, const std::optional<DocumentMark>& mark)
      : ids_(ids), mark_(mark) {}

  [[nodiscard]] uint64_t tokens() const override { return ids_.size(); }

  Status next(size_t max_tokens, std::vector<TokenId>& ids) override {
    if (at_ == ids_.size()) return Status::kEnd;
    const uint64_t limit = at_ + std::min<uint64_t>(max_tokens, ids_.size() - at_);
    const std::optional<uint64_t> border = next_border(limit);
    const uint64_t end = border.value_or(limit);
    ids_.append(at_, end - at_, ids);
    at_ = end;
    return border || end == ids_.size() ? Status::kDocumentEnds : Status::kMore;
  }

 private:
  // The first place in (at_, limit] where one document ends and another may begin.
  [[nodiscard]] std::optional<uint64_t> next_border(uint64_t limit) const {
    if (!mark_) return std::nullopt;
    if (mark_->place == MarkPlace::kLast) {
      const std::optional<uint64_t> mark = ids_.find(mark_->id, at_, limit);
      return mark ? std::optional(*mark + 1) : std::nullopt;
    }
    // A mark at at_ begins this document: had it ended one, the part before would have seen it.
    return ids_.find(mark_->id, at_ + 1, std::min(limit + 1, ids_.size()));
  }

  TokenIds ids_;
  std::optional<DocumentMark> mark_;
  uint64_t at_ = 0;
};

}  // namespace

std::unique_ptr<TokenFileReader> read_marked(const TokenIds& ids, const TokenFileOptions& options) {
  if (options.mark && options.mark->id >= options.vocab_size) {
    throw UsageError(
        format("the id between documents is {}, which is not below the vocabulary's {}",
               options.mark->id, options.vocab_size));
  }
  return std::make_unique<MarkedReader>(ids, options.mark);
}

}  // namespace shoal::data
