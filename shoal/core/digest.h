// digest.h -- SHA-256, for names that depend on content: of tokenizers, token ids, files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace shoal {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void add(std::string_view bytes);
  void add_number(uint64_t number);  // eight bytes, the lowest first

  std::string hex();  // 64 digits; nothing can be added afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shoal
