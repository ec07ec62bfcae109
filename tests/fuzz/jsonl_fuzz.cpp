// Any bytes as JSONL and as plain text, in any slices, from a stream that gives any number of bytes at a
// time: read or refused with a DataError. The documents of all slices together are those of the whole.
// A text without separators comes back byte for byte, cut only where its tokenizer's pieces end.
//
// The first six bytes choose how it is read; the rest is the file.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"
#include "shoal/data/documents/jsonl_documents.h"
#include "shoal/data/documents/text_documents.h"

#include "tests/data/documents/string_stream.h"
#include "tests/fuzz/require.h"

namespace {

using namespace shoal::data;  // NOLINT(google-build-using-namespace)
using shoal::tests::require;

constexpr size_t kChoices = 6;
constexpr std::array<std::string_view, 7> kSeparators = {"\n",  "\n\n",  "<|endoftext|>", "ab",
                                                         "aba", "aabaa", "\r\n--\r\n"};
constexpr std::array kPatterns = {Pattern::kGpt2, Pattern::kCl100k, Pattern::kO200k,
                                  Pattern::kByte, Pattern::kWord,   Pattern::kNone};

struct Choices {
  explicit Choices(std::string_view bytes) {
    const auto at = [&](size_t index) { return static_cast<uint8_t>(bytes[index]); };
    slices = 1 + at(1) % 9;
    most = 1 + at(2) * (at(2) % 16);
    pattern = kPatterns[at(3) % kPatterns.size()];
    separator = kSeparators[at(4) % kSeparators.size()];
    piece_bytes = 1 + at(5);
    with_prompt = at(3) % 2 == 1;
  }

  size_t slices;
  size_t most;  // bytes at a time
  Pattern pattern;
  std::string_view separator;
  size_t piece_bytes;  // longer documents come in pieces; longer lines are refused
  bool with_prompt;
};

Slice slice_of(std::string_view text, size_t index, size_t slices) {
  return {.begin = shoal::even_part_begin(text.size(), index, slices),
          .end = shoal::even_part_begin(text.size(), index + 1, slices)};
}

std::string_view stream_of(std::string_view text, const Slice& slice, size_t before) {
  return text.substr(slice.begin - std::min<uint64_t>(slice.begin, before));
}

// Documents, each as one text, with a mark where a tokenizer sees a piece end.
struct Content {
  std::vector<std::string> documents;
  bool whole = true;  // false: something was refused

  bool operator==(const Content& other) const {
    return whole == other.whole && (!whole || documents == other.documents);
  }
};

void append_pieces(Pattern pattern, std::string_view text, std::string& to) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* const next = next_piece(pattern, at, end);
    to.append(at, next).push_back('\xFF');
    at = next;
  }
}

template <class Open>
Content read(std::string_view text,
             size_t slices,
             Pattern pattern,
             const Open& open,
             bool one_document = false) {
  Content content;
  try {
    for (size_t index = 0; index < slices; ++index) {
      const Slice slice = slice_of(text, index, slices);
      const auto reader = open(slice);
      bool in_document = one_document && slice.begin > 0;
      if (in_document && content.documents.empty()) content.documents.emplace_back();
      for (Document document; reader->next(document);) {
        require(document.begins != in_document);
        require(!document.text.empty() || in_document);
        if (document.begins) content.documents.emplace_back();
        content.documents.back().append(document.prompt);
        append_pieces(pattern, document.text, content.documents.back());
        in_document = !document.ends;
      }
    }
  } catch (const shoal::DataError&) {
    content.whole = false;
  }
  return content;
}

void try_jsonl(std::string_view text, const Choices& choices) {
  const auto open = [&](size_t most) {
    return [&, most](const Slice& slice) {
      JsonlOptions options{.slice = slice, .max_line_bytes = choices.piece_bytes * 16};
      if (choices.with_prompt) options.fields.prompt = "prompt";
      return read_jsonl(std::make_unique<StringStream>(stream_of(text, slice, 1), most), options,
                        "x.jsonl");
    };
  };
  const Content whole = read(text, 1, Pattern::kNone, open(SIZE_MAX));
  require(whole == read(text, choices.slices, Pattern::kNone, open(choices.most)));
}

auto text_opener(std::string_view text,
                 const Choices& choices,
                 std::string_view separator,
                 size_t most,
                 size_t piece_bytes) {
  return [=](const Slice& slice) {
    const TextOptions options{.pattern = choices.pattern,
                              .separator = std::string(separator),
                              .slice = slice,
                              .piece_bytes = piece_bytes};
    const size_t before = bytes_before_slice(options.separator);
    return read_text(std::make_unique<StringStream>(stream_of(text, slice, before), most), options,
                     "x.txt");
  };
}

void try_separated(std::string_view text, const Choices& choices) {
  const auto open = [&](size_t most, size_t piece_bytes) {
    return text_opener(text, choices, choices.separator, most, piece_bytes);
  };
  const Content whole = read(text, 1, choices.pattern, open(SIZE_MAX, SIZE_MAX));
  require(whole.whole);
  for (const std::string& document : whole.documents) require(!document.empty());
  require(whole ==
          read(text, choices.slices, choices.pattern, open(choices.most, choices.piece_bytes)));
}

void try_whole(std::string_view text, const Choices& choices) {
  // Without a pattern a text has no borders to slice it at.
  const size_t slices = choices.pattern == Pattern::kNone ? 1 : choices.slices;
  const Content content = read(text, slices, choices.pattern,
                               text_opener(text, choices, "", choices.most, choices.piece_bytes),
                               /*one_document=*/true);
  require(content.whole);
  require(content.documents.size() <= 1);
  const std::string together = content.documents.empty() ? "" : content.documents.front();
  std::string expected;
  append_pieces(choices.pattern, text, expected);
  require(together == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size < kChoices) return 0;
  const Choices choices(input);
  const std::string_view text = input.substr(kChoices);
  switch (data[0] % 3) {
    case 0:
      try_jsonl(text, choices);
      break;
    case 1:
      try_separated(text, choices);
      break;
    default:
      try_whole(text, choices);
  }
  return 0;
}
