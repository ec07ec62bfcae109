// encode_records TOKENIZER [PATTERN] <records >ids
//
// A record is its length (uint32) and that many bytes; the answer is a count (uint32) and that many ids
// (uint32). One encoder serves all of them, so its memory of earlier pieces is tested too.

#include <cstdio>
#include <iostream>

#include "shoal/core/error.h"
#include "shoal/data/tokenizer/encoder.h"

namespace {

void encode_all(shoal::data::Encoder& encoder) {
  std::string text;
  std::vector<shoal::data::TokenId> ids;
  uint32_t size = 0;
  while (std::fread(&size, sizeof(size), 1, stdin) == 1) {
    text.resize(size);
    if (size > 0 && std::fread(text.data(), size, 1, stdin) != 1)
      throw shoal::DataError("cut short");
    ids.clear();
    encoder.encode(text, ids);
    const auto count = static_cast<uint32_t>(ids.size());
    std::fwrite(&count, sizeof(count), 1, stdout);
    std::fwrite(ids.data(), sizeof(ids[0]), ids.size(), stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw shoal::UsageError("encode_records TOKENIZER [PATTERN]");
    const auto pattern = argc > 2 ? shoal::data::pattern_named(argv[2]) : std::nullopt;
    shoal::data::Encoder encoder(shoal::data::read_tokenizer(argv[1], pattern));
    encode_all(encoder);
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
