#include "shoal/data/tokenizer/added_tokens.h"

#include <algorithm>
#include <deque>

#include "shoal/core/error.h"

namespace shoal::data {
namespace {

constexpr size_t kMaxNodes = 1 << 16;  // 64 MiB of automaton

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  const auto new_node = [this](uint32_t depth) {
    if (nodes_.size() >= kMaxNodes)
      throw DataError(format("the added tokens have more than {} different beginnings", kMaxNodes));
    Node& node = nodes_.emplace_back();
    node.next.fill(kNone);
    node.depth = depth;
    return static_cast<uint32_t>(nodes_.size() - 1);
  };
  new_node(0);
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].text.empty()) throw DataError(format("added token {} is empty", tokens_[i].id));
    uint32_t node = 0;
    for (const char byte : tokens_[i].text) {
      const auto index = static_cast<unsigned char>(byte);
      if (nodes_[node].next[index] == kNone) {
        const uint32_t made = new_node(nodes_[node].depth + 1);
        nodes_[node].next[index] = made;
      }
      node = nodes_[node].next[index];
    }
    if (nodes_[node].token != kNone)
      throw DataError(format("the added token '{}' comes twice", tokens_[i].text));
    nodes_[node].token = i;
    begins_[static_cast<unsigned char>(tokens_[i].text[0])] = true;
    longest_ = std::max(longest_, tokens_[i].text.size());
  }
  std::deque<uint32_t> queue = {0};
  while (!queue.empty()) {
    const uint32_t node = queue.front();
    queue.pop_front();
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t& next = nodes_[node].next[byte];
      const uint32_t otherwise = node == 0 ? 0 : nodes_[nodes_[node].fallback].next[byte];
      if (next == kNone) {
        next = otherwise;
        continue;
      }
      nodes_[next].fallback = otherwise;
      if (nodes_[next].token == kNone) nodes_[next].token = nodes_[otherwise].token;
      queue.push_back(next);
    }
  }
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, size_t from) const {
  if (empty()) return std::nullopt;
  std::optional<Match> best;
  uint32_t node = 0;
  for (size_t i = from; i < text.size(); ++i) {
    if (node == 0 && !best) {  // nothing is begun: go to the next byte that begins one
      while (i < text.size() && !begins_[static_cast<unsigned char>(text[i])]) ++i;
      if (i == text.size()) break;
    }
    node = step(node, text[i]);
    // All that could still be found begins behind the best: nothing can replace it.
    if (best && i + 1 - nodes_[node].depth > best->first) break;
    const uint32_t token = nodes_[node].token;
    if (token == kNone) continue;
    const size_t size = tokens_[token].text.size();
    const Match match{i + 1 - size, size, tokens_[token].id};
    const bool better = !best || match.first < best->first ||
                        (match.first == best->first && match.size > best->size);
    if (better) best = match;
  }
  return best;
}

size_t AddedTokens::open_from(std::string_view text, size_t from) const {
  if (empty()) return text.size();
  uint32_t node = 0;
  const size_t reach = text.size() - std::min(longest_, text.size());
  for (size_t i = std::max(from, reach); i < text.size(); ++i) node = step(node, text[i]);
  return text.size() - nodes_[node].depth;
}

}  // namespace shoal::data
