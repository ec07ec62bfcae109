#include "shoal/prepare/part_writer.h"

#include <algorithm>
#include <cmath>

#include "shoal/prepare/document_hash.h"
#include "shoal/prepare/shard_writer.h"

namespace shoal::prepare {
namespace {

using data::Document;
using data::Split;

// The split a document belongs to, by a hash: below the share of all hashes is validation.
Split split_of(const Document& first_piece, const ValidationRule& rule) {
  if (rule.kind != ValidationRule::Kind::kHash) return Split::kTrain;
  const auto hash = static_cast<double>(hash_of_head(first_piece).high);
  return hash < std::ldexp(rule.share, 64) ? Split::kValidation : Split::kTrain;
}

class PartWriter {
 public:
  PartWriter(const InputPlan& plan,
             uint64_t number,
             const PrepareOptions& options,
             const DuplicatesByPart& duplicates,
             data::Encoder& encoder,
             Progress& progress)
      : plan_(plan),
        number_(number),
        options_(options),
        duplicates_(duplicates),
        encoder_(encoder),
        progress_(progress) {}

  void add(const InputSlice& slice) {
    if (slice.document_part) judge_part_of_document(slice);
    const auto reader = read_slice(plan_, slice, options_, progress_.bytes_done);
    for (Document piece; reader->next(piece);) {
      if (piece.begins && !slice.document_part) judge(piece, slice.split);
      add(piece);
    }
    // The rest of a document that is not all in this slice is in another part.
    for (const Split split : data::kSplits) {
      if (writer_[index(split)]) writer_[index(split)]->break_document();
    }
  }

  data::PreparedPart finish() {
    for (const Split split : data::kSplits) {
      if (writer_[index(split)]) part_.of(split) = writer_[index(split)]->finish();
    }
    return std::move(part_);
  }

 private:
  static size_t index(Split split) { return static_cast<size_t>(split); }

  void judge(const Document& first_piece, std::optional<Split> split) {
    left_out_ = is_duplicate(number_, judged_++);
    split_ = split ? *split : split_of(first_piece, options_.validation);
  }

  // All slices of a document are judged alike, whatever part they are in.
  void judge_part_of_document(const InputSlice& slice) {
    left_out_ = is_duplicate(*slice.document_part, 0);
    if (!continues(slice)) ++judged_;
    split_ = slice.split.value_or(Split::kTrain);
    if (slice.split || options_.validation.kind != ValidationRule::Kind::kHash) return;
    const auto reader = read_slice(plan_, whole_document(slice), options_, progress_.bytes_done);
    Document first_piece;
    reader->next(first_piece);
    split_ = split_of(first_piece, options_.validation);
  }

  [[nodiscard]] bool is_duplicate(uint64_t part, uint64_t document) const {
    const auto found = duplicates_.find(part);
    return found != duplicates_.end() && document < found->second.size() && found->second[document];
  }

  void add(const Document& piece) {
    if (!left_out_) {
      encode(piece);
      if (piece.ends) end_document();
    }
    if (!piece.ends) return;
    ++part_.documents;
    if (left_out_) ++part_.duplicates;
  }

  void encode(const Document& document) {
    if (!document.ids.empty()) {
      write_ids(document.ids, document.trained_on);
      return;
    }
    if (!document.prompt.empty()) {
      ids_.clear();
      encoder_.encode(document.prompt, ids_);
      write(ids_, false);
    }
    ids_.clear();
    encoder_.encode(document.text, ids_);
    write(ids_, true);
  }

  // In runs that are trained on or masked as a whole.
  void write_ids(std::span<const data::TokenId> ids, std::span<const uint8_t> trained_on) {
    if (trained_on.empty()) write(ids, true);
    while (!trained_on.empty()) {
      const auto is_other = [&](uint8_t flag) { return flag != trained_on.front(); };
      const auto end = std::find_if(trained_on.begin(), trained_on.end(), is_other);
      const auto count = static_cast<size_t>(end - trained_on.begin());
      write(ids.first(count), trained_on.front() != 0);
      ids = ids.subspan(count);
      trained_on = trained_on.subspan(count);
    }
  }

  void end_document() {
    if (options_.end_of_document) write({&*options_.end_of_document, 1}, true);
    if (writer_[index(split_)]) writer_[index(split_)]->end_document();
  }

  void write(std::span<const data::TokenId> ids, bool trained_on) {
    if (ids.empty()) return;
    auto& writer = writer_[index(split_)];
    if (!writer) {
      writer = std::make_unique<ShardWriter>(options_.output, data::shard_file(split_, number_),
                                             layout_of(options_), options_.pack);
    }
    writer->add(ids, trained_on);
    progress_.tokens += ids.size();
  }

  const InputPlan& plan_;
  const uint64_t number_;
  const PrepareOptions& options_;
  const DuplicatesByPart& duplicates_;
  data::Encoder& encoder_;
  Progress& progress_;
  std::array<std::unique_ptr<ShardWriter>, data::kSplits.size()> writer_;
  data::PreparedPart part_;
  uint64_t judged_ = 0;
  Split split_ = Split::kTrain;
  bool left_out_ = false;
  std::vector<data::TokenId> ids_;
};

}  // namespace

data::TokenLayout layout_of(const PrepareOptions& options) {
  return {.tokenizer = options.tokenizer->hash(),
          .vocab_size = static_cast<uint32_t>(options.tokenizer->size()),
          .end_of_document = options.end_of_document,
          .loss_mask = !options.fields.prompt.empty()};
}

std::vector<Hash128> hash_part(const InputPlan& plan,
                               uint64_t number,
                               const PrepareOptions& options,
                               Progress& progress) {
  std::vector<Hash128> hashes;
  DocumentHash hash;
  for (const InputSlice& slice : plan.parts[number].slices) {
    if (slice.document_part) progress.bytes_done += slice.bytes;
    if (continues(slice)) continue;
    const auto reader = read_slice(plan, slice.document_part ? whole_document(slice) : slice,
                                   options, progress.bytes_done);
    for (Document piece; reader->next(piece);) {
      hash.add(piece);
      if (piece.ends) hashes.push_back(hash.value());
    }
  }
  return hashes;
}

data::PreparedPart write_part(const InputPlan& plan,
                              uint64_t number,
                              const PrepareOptions& options,
                              const DuplicatesByPart& duplicates,
                              data::Encoder& encoder,
                              Progress& progress) {
  PartWriter writer(plan, number, options, duplicates, encoder, progress);
  for (const InputSlice& slice : plan.parts[number].slices) writer.add(slice);
  data::PreparedPart part = writer.finish();
  part.input_bytes = plan.parts[number].bytes;
  return part;
}

}  // namespace shoal::prepare
