#include "shoal/prepare/part_writer.h"

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
  PartWriter(uint64_t number,
             const PrepareOptions& options,
             const Duplicates& duplicates,
             data::Encoder& encoder,
             Progress& progress)
      : number_(number),
        options_(options),
        duplicates_(duplicates),
        encoder_(encoder),
        progress_(progress) {}

  void add(const Document& document, std::optional<Split> split) {
    if (document.begins) judge(document, split);
    if (!left_out_) {
      encode(document);
      if (document.ends) end_document();
    }
    if (document.ends) ++part_.documents;
  }

  // The rest of a document that is not all in this slice is in another part.
  void end_slice() {
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

  void judge(const Document& document, std::optional<Split> split) {
    const uint64_t number = judged_++;
    left_out_ = number < duplicates_.size() && duplicates_[number];
    if (left_out_) ++part_.duplicates;
    split_ = split ? *split : split_of(document, options_.validation);
  }

  void encode(const Document& document) {
    if (!document.ids.empty()) {
      write(document.ids, true);
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

  const uint64_t number_;
  const PrepareOptions& options_;
  const Duplicates& duplicates_;
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
    const auto reader = read_slice(plan, slice, options, progress.bytes_done);
    bool open = false;
    for (Document document; reader->next(document);) {
      hash.add(document);
      open = !document.ends;
      if (!open) hashes.push_back(hash.value());
    }
    if (open) hashes.push_back(hash.value());  // it goes on in another slice
  }
  return hashes;
}

data::PreparedPart write_part(const InputPlan& plan,
                              uint64_t number,
                              const PrepareOptions& options,
                              const Duplicates& duplicates,
                              data::Encoder& encoder,
                              Progress& progress) {
  PartWriter writer(number, options, duplicates, encoder, progress);
  for (const InputSlice& slice : plan.parts[number].slices) {
    const auto reader = read_slice(plan, slice, options, progress.bytes_done);
    for (Document document; reader->next(document);) writer.add(document, slice.split);
    writer.end_slice();
  }
  data::PreparedPart part = writer.finish();
  part.input_bytes = plan.parts[number].bytes;
  return part;
}

}  // namespace shoal::prepare
