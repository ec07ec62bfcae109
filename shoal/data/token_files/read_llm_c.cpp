// llm.c's files: 256 int32, of which three mean something (magic, version, number of ids), and the
// ids.

#include <array>

#include "shoal/core/error.h"
#include "shoal/data/token_files/token_ids.h"

namespace shoal::data {
namespace {

constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);
constexpr int32_t kEvalMagic = 20240522;

struct Kind {
  int32_t magic;
  int32_t version;
  IdType type;
};

constexpr std::array kKinds = {
    Kind{20240520, 1, IdType::kUint16},  // GPT-2's vocabulary
    Kind{20240801, 7, IdType::kUint32},  // Llama 3's
};

const Kind* kind_of(int32_t magic) {
  for (const Kind& kind : kKinds) {
    if (kind.magic == magic) return &kind;
  }
  return nullptr;
}

struct Header {
  IdType type;
  uint64_t tokens;
};

Header header_of(const NamedBytes& file) {
  if (file.bytes.size() < kHeaderBytes) {
    throw DataError(
        format("{} has {} bytes, but llm.c's header alone has {}: cut off or another format",
               file.name, file.bytes.size(), kHeaderBytes));
  }
  const char* const bytes = file.bytes.data();
  const auto magic = number_at<int32_t>(bytes);
  const auto version = number_at<int32_t>(bytes + 4);
  const auto tokens = number_at<int32_t>(bytes + 8);
  if (magic == kEvalMagic) {
    throw DataError(
        format("{} is one of llm.c's evaluation files (magic {}): questions and answers", file.name,
               magic));
  }
  const Kind* const kind = kind_of(magic);
  if (kind == nullptr) {
    throw DataError(format("{} begins with {}, but llm.c's files begin with {} or {}", file.name,
                           magic, kKinds[0].magic, kKinds[1].magic));
  }
  if (version != kind->version) {
    throw DataError(
        format("{} has version {}, but of llm.c's files with magic {} only version {} is known",
               file.name, version, magic, kind->version));
  }
  if (tokens < 0) throw DataError(format("{} claims to have {} ids", file.name, tokens));
  return {.type = kind->type, .tokens = static_cast<uint64_t>(tokens)};
}

}  // namespace

bool is_llm_c(std::string_view bytes) {
  if (bytes.size() < sizeof(int32_t)) return false;
  const auto magic = number_at<int32_t>(bytes.data());
  return magic == kEvalMagic || kind_of(magic) != nullptr;
}

std::unique_ptr<TokenFileReader> read_llm_c(const NamedBytes& file,
                                            const TokenFileOptions& options) {
  const Header header = header_of(file);
  const std::string_view ids = file.bytes.substr(kHeaderBytes);
  // At most 2^31 ids of 4 bytes: this cannot overflow.
  const uint64_t promised = header.tokens * bytes_of(header.type);
  if (ids.size() != promised) {
    throw DataError(
        format("{} claims to have {} ids, which are {} bytes, but {} bytes follow the header: "
               "cut off or damaged",
               file.name, header.tokens, promised, ids.size()));
  }
  return read_marked(TokenIds({file.name, ids}, header.type, options.vocab_size), options);
}

}  // namespace shoal::data
