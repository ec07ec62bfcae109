#include "shoal/data/token_files/token_file.h"

#include "shoal/core/error.h"
#include "shoal/data/token_files/readers.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

fs::path with_extension(fs::path path, const char* extension) {
  return path.replace_extension(extension);
}

}  // namespace

std::optional<TokenFormat> token_format_of(const fs::path& path) {
  const fs::path extension = path.extension();
  if (extension == ".idx") return TokenFormat::kMegatron;
  if (extension == ".npy") return TokenFormat::kOlmo;
  if (extension != ".bin") return std::nullopt;
  std::error_code no_index;
  if (fs::exists(with_extension(path, ".idx"), no_index)) return TokenFormat::kMegatron;
  return is_llm_c(MappedFile(path).bytes()) ? TokenFormat::kLlmC : TokenFormat::kNanoGpt;
}

TokenFile::TokenFile(const fs::path& path, const TokenFileOptions& options) {
  const bool is_megatron = options.format == TokenFormat::kMegatron;
  if (is_megatron && path.extension() != ".bin" && path.extension() != ".idx") {
    throw UsageError(
        format("{} is to be read as Megatron's, but its name ends in neither .bin nor .idx",
               path.string()));
  }
  const fs::path ids_path = is_megatron ? with_extension(path, ".bin") : path;
  file_ = MappedFile(ids_path);
  file_.advise(MappedFile::Access::kSequential);
  const NamedBytes file{ids_path.string(), file_.bytes()};
  switch (options.format) {
    case TokenFormat::kNanoGpt:
      reader_ = read_nano_gpt(file, options);
      break;
    case TokenFormat::kLlmC:
      reader_ = read_llm_c(file, options);
      break;
    case TokenFormat::kMegatron: {
      const fs::path index_path = with_extension(path, ".idx");
      index_ = MappedFile(index_path);
      reader_ = read_megatron({index_path.string(), index_.bytes()}, file, options);
      break;
    }
    case TokenFormat::kOlmo:
      reader_ = read_olmo(file, options);
      break;
  }
}

TokenFile::TokenFile(TokenFile&&) noexcept = default;
TokenFile& TokenFile::operator=(TokenFile&&) noexcept = default;
TokenFile::~TokenFile() = default;

uint64_t TokenFile::tokens() const { return reader_->tokens(); }

TokenFile::Status TokenFile::next(size_t max_tokens, std::vector<TokenId>& ids) {
  SHOAL_CHECK(max_tokens > 0, "a part of a document has at least one id");
  return reader_->next(max_tokens, ids);
}

}  // namespace shoal::data
