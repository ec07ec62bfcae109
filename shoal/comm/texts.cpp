#include "shoal/comm/texts.h"

#include <cstring>

#include <ATen/ATen.h>

namespace shoal::comm {
namespace {

// A text that `root` has, and whose length all know.
std::string broadcast(
    World& world, const std::string& mine, int root, int64_t bytes, std::string_view what) {
  const at::Tensor buffer = at::zeros({bytes}, at::kByte);
  if (world.rank() == root && bytes > 0) std::memcpy(buffer.data_ptr(), mine.data(), mine.size());
  if (bytes > 0) world.control().broadcast(buffer, root, what);
  return {static_cast<const char*>(buffer.const_data_ptr()), static_cast<size_t>(bytes)};
}

}  // namespace

std::vector<std::string> all_texts(World& world, const std::string& mine, std::string_view what) {
  const at::Tensor lengths = at::zeros({world.size()}, at::kLong);
  lengths[world.rank()] = static_cast<int64_t>(mine.size());
  world.control().all_reduce(lengths, Reduce::kSum, what);
  std::vector<std::string> texts;
  for (int rank = 0; rank < world.size(); ++rank)
    texts.push_back(broadcast(world, mine, rank, lengths[rank].item<int64_t>(), what));
  return texts;
}

std::string text_of_first(World& world, const std::string& mine, std::string_view what) {
  const at::Tensor length = at::full({1}, static_cast<int64_t>(mine.size()), at::kLong);
  world.control().broadcast(length, 0, what);
  return broadcast(world, mine, 0, length.item<int64_t>(), what);
}

}  // namespace shoal::comm
