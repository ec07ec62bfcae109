// Ids without a header: nanoGPT's and OLMo's files.

#include "shoal/core/error.h"
#include "shoal/data/token_files/token_ids.h"

namespace shoal::data {
namespace {

// "\x93NUMPY", then the version: 1.0, 2.0 or 3.0. Raw ids that begin like that would be the uint16
// 20115, 19797, 22864 and one of 1 to 3.
bool begins_with_numpy_header(std::string_view bytes) {
  return bytes.size() >= 8 && bytes.starts_with("\x93NUMPY") && bytes[6] >= 1 && bytes[6] <= 3 &&
         bytes[7] == 0;
}

IdType olmo_type(const TokenFileOptions& options) {
  if (!options.bytes_per_id) {
    if (options.vocab_size <= uint32_t{1} << 8) return IdType::kUint8;
    if (options.vocab_size <= uint32_t{1} << 16) return IdType::kUint16;
    return IdType::kUint32;
  }
  switch (*options.bytes_per_id) {
    case 1:
      return IdType::kUint8;
    case 2:
      return IdType::kUint16;
    case 4:
      return IdType::kUint32;
    case 8:
      return IdType::kUint64;
    default:
      throw UsageError(format("ids of {} bytes were asked for, but only 1, 2, 4 and 8 are possible",
                              *options.bytes_per_id));
  }
}

}  // namespace

std::unique_ptr<TokenFileReader> read_nano_gpt(const NamedBytes& file,
                                               const TokenFileOptions& options) {
  if (options.vocab_size > uint32_t{1} << 16) {
    throw DataError(format(
        "{} has no header, so its ids would be uint16, but the vocabulary has {}: give them "
        "as files of llm.c, Megatron (.bin with .idx) or OLMo (.npy), or as Arrow or Parquet",
        file.name, options.vocab_size));
  }
  return read_marked(TokenIds(file, IdType::kUint16, options.vocab_size), options);
}

std::unique_ptr<TokenFileReader> read_olmo(const NamedBytes& file,
                                           const TokenFileOptions& options) {
  if (begins_with_numpy_header(file.bytes)) {
    throw DataError(format(
        "{} begins with numpy's header, but OLMo's .npy files are ids alone, as numpy.memmap "
        "writes them. To convert: numpy.load(old).tofile(new)",
        file.name));
  }
  return read_marked(TokenIds(file, olmo_type(options), options.vocab_size), options);
}

}  // namespace shoal::data
