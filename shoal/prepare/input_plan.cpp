#include "shoal/prepare/input_plan.h"

#include <algorithm>

#include <arrow/io/interfaces.h>

#include "shoal/core/checksum.h"
#include "shoal/core/even_parts.h"
#include "shoal/data/documents/jsonl_documents.h"
#include "shoal/data/documents/text_documents.h"
#include "shoal/prepare/arrow_errors.h"
#include "shoal/prepare/input_stream.h"
#include "shoal/prepare/table_batches.h"
#include "shoal/prepare/table_documents.h"
#include "shoal/prepare/token_documents.h"

namespace shoal::prepare {
namespace {

using data::Split;

// The version of the rules by which documents are assigned to parts and splits and compared. What
// one version has begun must not be finished by another.
constexpr int kVersion = 2;

uint64_t part_bytes_of(const PrepareOptions& options, const std::vector<InputFile>& files) {
  if (options.part_bytes > 0) return options.part_bytes;
  uint64_t total = 0;
  for (const InputFile& file : files) total += file.bytes;
  // Enough parts for threads and ranks to share, few enough files in the end.
  constexpr uint64_t kFewest = uint64_t{16} << 20;
  constexpr uint64_t kMost = uint64_t{256} << 20;
  return std::clamp(total / 64, kFewest, kMost);
}

// The first byte of the tail, moved back to the beginning of a character.
uint64_t tail_of(const InputFile& file, double share) {
  const auto cut = static_cast<uint64_t>(static_cast<double>(file.bytes) * (1 - share));
  const uint64_t from = cut - std::min<uint64_t>(cut, 3);
  std::string around(cut - from + 1, '\0');
  const int64_t got =
      must(open_input(file)->ReadAt(static_cast<int64_t>(from), static_cast<int64_t>(around.size()),
                                    around.data()),
           format("reading {}", file.name));
  if (got != static_cast<int64_t>(around.size())) return cut;  // at the end of the file
  const auto is_continuation = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
  };
  uint64_t place = cut;
  while (place > from && is_continuation(around[place - from])) --place;
  return place;
}

class Planner {
 public:
  explicit Planner(const PrepareOptions& options) : options_(options) {
    plan_.files = find_inputs(options.inputs, options.output);
    part_bytes_ = part_bytes_of(options, plan_.files);
    for (size_t number = 0; number < plan_.files.size(); ++number) add_file(number);
    if (plan_.parts.empty()) throw UsageError("the input files are all empty");
    plan_.identity = identity();
  }

  InputPlan take() { return std::move(plan_); }

 private:
  void add_file(size_t number) {
    const InputFile& file = plan_.files[number];
    if (file.bytes == 0) return;
    if (file.kind == InputKind::kTokens && !file.is_local())
      throw UsageError(
          format("{} is a token file, and those are read from this machine only: copy it here",
                 file.name));
    const bool tail = options_.validation.kind == ValidationRule::Kind::kTail;
    if (tail && (file.kind != InputKind::kText || file.compression != Compression::kNone))
      throw UsageError(
          format("the tail of {} cannot be for validation: only plain text has one; use hash:{}",
                 file.name, options_.validation.share));
    if (tail) {
      const uint64_t cut = tail_of(file, options_.validation.share);
      add_text(number, 0, cut, Split::kTrain);
      add_text(number, cut, file.bytes, Split::kValidation);
    } else if (file.compression != Compression::kNone || file.kind == InputKind::kTokens) {
      add({.file = number, .bytes = file.bytes});
    } else if (file.kind == InputKind::kText || file.kind == InputKind::kJsonl) {
      add_text(number, 0, file.bytes, std::nullopt);
    } else {
      add_table(number);
    }
  }

  void add_text(size_t number, uint64_t begin, uint64_t end, std::optional<Split> split) {
    const uint64_t size = end - begin;
    const bool one_document =
        plan_.files[number].kind == InputKind::kText && options_.separator.empty();
    // Without a pattern a text is one piece, however long.
    const bool one_piece = one_document && options_.tokenizer->pattern() == data::Pattern::kNone;
    const uint64_t slices = one_piece ? 1 : pieces_of(size);
    std::optional<uint64_t> document_part;
    if (one_document && slices > 1) {
      document_part = plan_.parts.size();
      plan_.parts.emplace_back();
    }
    for (uint64_t index = 0; index < slices; ++index) {
      InputSlice slice{.file = number,
                       .text_begin = begin,
                       .text_end = end,
                       .split = split,
                       .document_part = document_part};
      slice.range = {.begin = even_part_begin(size, index, slices),
                     .end = even_part_begin(size, index + 1, slices)};
      slice.bytes = slice.range.end - slice.range.begin;
      add(slice);
    }
  }

  void add_table(size_t number) {
    const InputFile& file = plan_.files[number];
    // Most files fit into a part; only those that do not have to be opened here.
    const uint64_t groups = file.bytes <= part_bytes_ ? 1 : count_groups(file);
    const uint64_t slices = std::min(groups, pieces_of(file.bytes));
    if (slices <= 1) {
      add({.file = number, .bytes = file.bytes});
      return;
    }
    for (uint64_t index = 0; index < slices; ++index) {
      InputSlice slice{.file = number};
      slice.range = {.begin = even_part_begin(groups, index, slices),
                     .end = even_part_begin(groups, index + 1, slices)};
      slice.bytes = even_part_begin(file.bytes, index + 1, slices) -
                    even_part_begin(file.bytes, index, slices);
      add(slice);
    }
  }

  [[nodiscard]] uint64_t pieces_of(uint64_t bytes) const {
    return (bytes + part_bytes_ - 1) / part_bytes_;
  }

  // Small files together, in order.
  void add(const InputSlice& slice) {
    if (plan_.parts.empty() || plan_.parts.back().bytes + slice.bytes > part_bytes_)
      plan_.parts.emplace_back();
    plan_.parts.back().slices.push_back(slice);
    plan_.parts.back().bytes += slice.bytes;
  }

  [[nodiscard]] std::string identity() const {
    std::string files;
    uint64_t total = 0;
    for (const InputFile& file : plan_.files) {
      files += format("{} {}\n", file.bytes, file.name);
      total += file.bytes;
    }
    std::string pack;
    for (const uint32_t length : options_.pack) pack += format("{} ", length);
    constexpr const char* kKinds[] = {"none", "hash", "tail"};
    const auto quoted = [](const std::string& text) { return xxh3_128(text).hex(); };
    return format(
        "{{\"version\": {}, \"files\": {}, \"bytes\": {}, \"names_and_sizes\": \"{}\", "
        "\"part_bytes\": {},\n"
        " \"tokenizer\": \"{}\", \"fields\": \"{}\", \"separator\": \"{}\",\n"
        " \"validation\": \"{}:{}\", \"end_of_document\": {}, \"deduplicate\": {}, \"pack\": "
        "\"{}\"}}\n",
        kVersion, plan_.files.size(), total, quoted(files), part_bytes_, options_.tokenizer->hash(),
        quoted(options_.fields.prompt + "," + options_.fields.text), quoted(options_.separator),
        kKinds[static_cast<int>(options_.validation.kind)], options_.validation.share,
        options_.end_of_document ? static_cast<int64_t>(*options_.end_of_document) : -1,
        options_.deduplicate, pack);
  }

  const PrepareOptions& options_;
  uint64_t part_bytes_ = 0;
  InputPlan plan_;
};

// Counts what is read, up to the size that the plan gives the slice.
class CountedStream : public data::ByteStream {
 public:
  CountedStream(std::unique_ptr<InputStream> stream, uint64_t most, std::atomic<uint64_t>& count)
      : stream_(std::move(stream)), left_(most), count_(count) {}

  size_t read(std::span<char> to) override {
    const uint64_t before = stream_->position();
    const size_t got = stream_->read(to);
    const uint64_t counted = std::min(stream_->position() - before, left_);
    left_ -= counted;
    count_ += counted;
    return got;
  }

  ~CountedStream() override { count_ += left_; }

 private:
  std::unique_ptr<InputStream> stream_;
  uint64_t left_;
  std::atomic<uint64_t>& count_;
};

}  // namespace

InputPlan plan_input(const PrepareOptions& options) { return Planner(options).take(); }

InputSlice whole_document(InputSlice slice) {
  slice.range = {};
  slice.bytes = 0;
  return slice;
}

std::unique_ptr<data::DocumentReader> read_slice(const InputPlan& plan,
                                                 const InputSlice& slice,
                                                 const PrepareOptions& options,
                                                 std::atomic<uint64_t>& bytes_done) {
  const InputFile& file = plan.files[slice.file];
  const auto stream_from = [&](uint64_t before) {
    const uint64_t begin = slice.range.begin - std::min(slice.range.begin, before);
    return std::make_unique<CountedStream>(
        open_stream(file, slice.text_begin + begin, slice.text_end), slice.bytes, bytes_done);
  };
  switch (file.kind) {
    case InputKind::kText:
      return data::read_text(stream_from(data::bytes_before_slice(options.separator)),
                             {.pattern = options.tokenizer->pattern(),
                              .separator = options.separator,
                              .slice = slice.range},
                             file.name);
    case InputKind::kJsonl:
      return data::read_jsonl(stream_from(1), {.fields = options.fields, .slice = slice.range},
                              file.name);
    case InputKind::kParquet:
    case InputKind::kArrow:
      bytes_done += slice.bytes;
      return read_table(file, {.fields = options.fields,
                               .groups = slice.range,
                               .vocab_size = static_cast<uint32_t>(options.tokenizer->size()),
                               .tokenizer = options.tokenizer->hash(),
                               .end_of_document = options.end_of_document});
    case InputKind::kTokens:
      bytes_done += slice.bytes;
      return read_tokens(file, {.vocab_size = static_cast<uint32_t>(options.tokenizer->size()),
                                .end_of_document = options.end_of_document});
  }
  throw BugError(format("{} is of no kind", file.name));
}

}  // namespace shoal::prepare
