// encode_rounds TOKENIZER FILE: prints the SHA-256 of the ids; then, for every line it reads, how many
// seconds it took to encode the file once more with the same encoder. For bench/tokenizer_peers.py.

#include <chrono>
#include <iostream>
#include <string>

#include "shoal/core/digest.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/data/tokenizer/encoder.h"

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw shoal::UsageError("encode_rounds TOKENIZER FILE");
    shoal::data::Encoder encoder(shoal::data::read_tokenizer(argv[1]));
    const std::string text = shoal::read_file(argv[2], size_t{1} << 30);
    std::vector<shoal::data::TokenId> ids;
    encoder.encode(text, ids);
    shoal::Sha256 hash;
    hash.add({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ids[0])});
    std::cout << hash.hex() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      ids.clear();
      const auto began = std::chrono::steady_clock::now();
      encoder.encode(text, ids);
      std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()
                << std::endl;
    }
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
