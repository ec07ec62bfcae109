#include "app/cmd_tokenizer.h"

#include <array>
#include <iostream>

#include "shoal/core/digest.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/number_in.h"
#include "shoal/data/tokenizer/encoder.h"

#include "app/arguments.h"
#include "app/report.h"
#include "app/tokenizer_choice.h"
#include "app/train_tokenizer.h"

namespace shoal::app {
namespace {

using data::TokenId;

constexpr size_t kChunk = 1 << 20;

struct TokenizerOptions {
  TokenizerChoice tokenizer;
  std::string file = "-";
  bool added = false;
  bool count = false;
  bool json = false;
};

// Calls `use` with one chunk after the other of the file, or of standard input.
template <class Use>
void read_chunks(const std::string& path, Use use) {
  ChunkReader reader(path);
  for (std::string chunk = reader.next(kChunk); !chunk.empty(); chunk = reader.next(kChunk))
    use(chunk);
}

// The ids of a text of any length, a few at a time.
template <class Use>
void encode_file(const TokenizerOptions& options, Use use) {
  data::Encoder encoder(read_chosen(options.tokenizer));
  data::StreamEncoder stream(encoder,
                             options.added ? data::AddedIn::kAsTokens : data::AddedIn::kAsText);
  std::vector<TokenId> ids;
  read_chunks(options.file, [&](std::string_view chunk) {
    stream.add(chunk, ids);
    use(ids);
    ids.clear();
  });
  stream.finish(ids);
  use(ids);
}

void print_count(const TokenizerOptions& options) {
  int64_t count = 0;
  Sha256 hash;
  encode_file(options, [&](const std::vector<TokenId>& ids) {
    count += static_cast<int64_t>(ids.size());
    hash.add({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId)});
  });
  Report report;
  report.section("ids").add("count", count).add("sha256", hash.hex());
  std::cout << (options.json ? report.json() : report.text());
}

void encode(const TokenizerOptions& options) {
  if (options.count) {
    print_count(options);
    return;
  }
  encode_file(options, [](const std::vector<TokenId>& ids) {
    for (const TokenId id : ids) std::cout << id << '\n';
  });
}

void decode(const TokenizerOptions& options) {
  const auto tokenizer = read_chosen(options.tokenizer);
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    const auto id = number_in<TokenId>(word);
    if (!id)
      throw DataError(format("'{}' is no id: ids are numbers with white space between them",
                             word.substr(0, 40)));
    std::cout << tokenizer->decode(std::array{*id});
    word.clear();
  };
  read_chunks(options.file, [&](std::string_view chunk) {
    for (const char letter : chunk) {
      if (letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r') {
        flush();
      } else if (word.size() < 64) {
        word += letter;
      }
    }
  });
  flush();
}

void info(const TokenizerOptions& options) {
  const auto tokenizer = read_chosen(options.tokenizer);
  size_t longest = 0;
  for (TokenId id = 0; id < tokenizer->vocabulary().id_limit(); ++id)
    longest = std::max(longest, tokenizer->vocabulary().bytes_of(id).size());
  Report report;
  report.section("tokenizer")
      .add("pattern", std::string(data::pattern_name(tokenizer->pattern())))
      .add("ids", static_cast<int64_t>(tokenizer->size()))
      .add("tokens", static_cast<int64_t>(tokenizer->vocabulary().size()))
      .add("merges", static_cast<int64_t>(tokenizer->bpe().merges().size()))
      .add("longest token", static_cast<int64_t>(longest), format("{} bytes", longest))
      .add("hash", tokenizer->hash());
  if (!tokenizer->added().empty()) {
    Report::Section& added = report.section("added tokens");
    for (const data::AddedToken& token : tokenizer->added().all())
      added.add(token.text, static_cast<int64_t>(token.id));
  }
  std::cout << (options.json ? report.json() : report.text());
}

}  // namespace

int run_tokenizer(const std::vector<std::string>& arguments) {
  TokenizerOptions options;
  TrainTokenizerOptions training;
  Arguments command("shoal tokenizer",
                    "Text to token ids and back.\n\n"
                    "  shoal tokenizer train books.txt --vocab-size 8192 --output books\n"
                    "  shoal tokenizer encode --tokenizer books chapter.txt\n");
  add_tokenizer_training(command, training);
  Arguments encoding = command.subcommand(
      "encode", "print the ids of a text, one per line; it need not be valid UTF-8",
      [&] { encode(options); });
  add_tokenizer_choice(encoding, options.tokenizer);
  encoding.option("file", options.file, "the text; standard input without it", {.shown = "FILE"});
  encoding.flag("--added", options.added,
                "added tokens such as <|endoftext|> in the text are tokens");
  encoding.flag("--count", options.count,
                "print only how many ids, and their SHA-256 as little-endian uint32");
  encoding.flag("--json", options.json, "with --count: as JSON");
  Arguments decoding = command.subcommand(
      "decode", "print the bytes of ids, which are numbers with white space between them",
      [&] { decode(options); });
  add_tokenizer_choice(decoding, options.tokenizer);
  decoding.option("file", options.file, "the ids; standard input without it", {.shown = "FILE"});
  Arguments describing =
      command.subcommand("info", "print what a tokenizer is", [&] { info(options); });
  add_tokenizer_choice(describing, options.tokenizer);
  describing.flag("--json", options.json, "as JSON");
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
