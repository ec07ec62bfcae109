#include "shoal/comm/texts.h"

#include <cstring>

#include <ATen/ATen.h>

namespace shoal::comm {
namespace {

constexpr int64_t kWord = 8;

int64_t words_of(int64_t bytes) { return (bytes + kWord - 1) / kWord; }

// A text in a buffer of words, where each begins at one.
std::string text_at(const at::Tensor& words, int64_t first, int64_t bytes) {
  return {reinterpret_cast<const char*>(words.const_data_ptr<int64_t>() + first),
          static_cast<size_t>(bytes)};
}

}  // namespace

// Two reductions however many ranks there are: where one has its text, the others have zeros. A word is one
// rank's alone, so nothing is carried from one to the next.
std::vector<std::string> all_texts(World& world, const std::string& mine, std::string_view what) {
  const at::Tensor lengths = at::zeros({world.size()}, at::kLong);
  lengths[world.rank()] = static_cast<int64_t>(mine.size());
  world.control().all_reduce(lengths, Reduce::kSum, what);
  const auto* const length = lengths.const_data_ptr<int64_t>();
  std::vector<int64_t> firsts = {0};
  for (int rank = 0; rank < world.size(); ++rank)
    firsts.push_back(firsts.back() + words_of(length[rank]));

  const at::Tensor words = at::zeros({firsts.back()}, at::kLong);
  int64_t* const own =
      words.mutable_data_ptr<int64_t>() + firsts[static_cast<size_t>(world.rank())];
  if (!mine.empty()) std::memcpy(own, mine.data(), mine.size());
  if (firsts.back() > 0) world.control().all_reduce(words, Reduce::kSum, what);
  std::vector<std::string> texts;
  for (int rank = 0; rank < world.size(); ++rank)
    texts.push_back(text_at(words, firsts[static_cast<size_t>(rank)], length[rank]));
  return texts;
}

std::string text_of_first(World& world, const std::string& mine, std::string_view what) {
  const at::Tensor length = at::full({1}, static_cast<int64_t>(mine.size()), at::kLong);
  world.control().broadcast(length, 0, what);
  const auto bytes = length.item<int64_t>();
  if (bytes == 0) return "";
  const at::Tensor words = at::zeros({words_of(bytes)}, at::kLong);
  if (world.rank() == 0) std::memcpy(words.data_ptr(), mine.data(), mine.size());
  world.control().broadcast(words, 0, what);
  return text_at(words, 0, bytes);
}

}  // namespace shoal::comm
