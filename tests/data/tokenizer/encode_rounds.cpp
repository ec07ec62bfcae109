// encode_rounds TOKENIZER FILE: prints the SHA-256 of the ids; how many seconds the new encoder took, and
// how many of the processor; then, for every line it reads, both for the same text once more: with the
// same encoder, which remembers pieces of it, or with a new one if the line is "fresh". For
// bench/tokenizer_peers.py and bench/prepare_gigabyte.py.

#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "shoal/core/digest.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/data/tokenizer/encoder.h"

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw shoal::UsageError("encode_rounds TOKENIZER FILE");
    const auto tokenizer = shoal::data::read_tokenizer(argv[1]);
    auto encoder = std::make_unique<shoal::data::Encoder>(tokenizer);
    const std::string text = shoal::read_file(argv[2], size_t{1} << 30);
    std::vector<shoal::data::TokenId> ids;
    const auto encode = [&] {
      ids.clear();
      const auto began = std::chrono::steady_clock::now();
      const std::clock_t processor = std::clock();
      encoder->encode(text, ids);
      const double used = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
      return std::pair(seconds.count(), used);
    };
    const auto cold = encode();
    shoal::Sha256 hash;
    hash.add({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ids[0])});
    std::cout << hash.hex() << "\n" << cold.first << " " << cold.second << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "fresh") encoder = std::make_unique<shoal::data::Encoder>(tokenizer);
      const auto again = encode();
      std::cout << again.first << " " << again.second << std::endl;
    }
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
