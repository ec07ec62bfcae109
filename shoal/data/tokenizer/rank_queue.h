// rank_queue.h -- a queue of places in a long piece, by rank and then from left to right. Private
// to tokenizer/.
//
// There is one list per rank. A merge makes tokens that only later merges use, so ranks are taken
// in ascending order and adding costs a few instructions, where a heap would walk through memory; a
// vocabulary that breaks this rule only makes the queue step back.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace shoal::data {

class RankQueue {
 public:
  struct Item {
    uint32_t rank;
    uint32_t place;
  };

  // Empties the queue and sizes it for ranks below `rank_limit`.
  void reset(size_t rank_limit) {
    if (first_.size() < rank_limit) {
      first_.resize(rank_limit, kNone);
      filled_.resize(rank_limit / 64 + 1, 0);
    }
    nodes_.clear();
    taken_.clear();
    lowest_ = filled_.size();
  }

  void add(uint32_t rank, uint32_t place) {
    if (!taken_.empty() && rank < taken_rank_) put_back();
    nodes_.push_back({place, first_[rank]});
    first_[rank] = static_cast<uint32_t>(nodes_.size() - 1);
    filled_[rank / 64] |= uint64_t{1} << (rank % 64);
    lowest_ = std::min<size_t>(lowest_, rank / 64);
  }

  std::optional<Item> take() {
    if (taken_.empty() && !take_lowest_list()) return std::nullopt;
    const uint32_t place = taken_.back();
    taken_.pop_back();
    return Item{taken_rank_, place};
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Node {
    uint32_t place;
    uint32_t next;
  };

  bool take_lowest_list() {
    while (lowest_ < filled_.size() && filled_[lowest_] == 0) ++lowest_;
    if (lowest_ >= filled_.size()) return false;
    taken_rank_ = static_cast<uint32_t>(64 * lowest_) +
                  static_cast<uint32_t>(std::countr_zero(filled_[lowest_]));
    for (uint32_t node = first_[taken_rank_]; node != kNone; node = nodes_[node].next)
      taken_.push_back(nodes_[node].place);
    first_[taken_rank_] = kNone;
    filled_[lowest_] &= filled_[lowest_] - 1;
    // The list is in reverse order of adding: mostly it is descending already.
    if (!std::is_sorted(taken_.begin(), taken_.end(), std::greater<>()))
      std::sort(taken_.begin(), taken_.end(), std::greater<>());
    return true;
  }

  void put_back() {
    const std::vector<uint32_t> places = std::move(taken_);
    taken_.clear();
    for (auto place = places.rbegin(); place != places.rend(); ++place) add(taken_rank_, *place);
  }

  std::vector<Node> nodes_;
  std::vector<uint32_t> first_;   // by rank: the node that was added last
  std::vector<uint64_t> filled_;  // a bit for each rank with a list
  size_t lowest_ = 0;             // no word of filled_ before this has a bit
  std::vector<uint32_t> taken_;   // places of the lowest rank, the leftmost last
  uint32_t taken_rank_ = 0;
};

}  // namespace shoal::data
