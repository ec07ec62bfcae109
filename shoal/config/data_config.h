// data_config.h -- which tokens a run sees, and in which order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"

namespace shoal::config {

enum class SampleOrder { kShuffled, kSequential };
enum class Packing { kConcatenate, kBestFit };
enum class ReadBy { kEveryRank, kLeader };

template <>
inline constexpr std::array kNames<SampleOrder> = {Named{"shuffled", SampleOrder::kShuffled},
                                                   Named{"sequential", SampleOrder::kSequential}};

template <>
inline constexpr std::array kNames<Packing> = {Named{"concatenate", Packing::kConcatenate},
                                               Named{"best_fit", Packing::kBestFit}};

template <>
inline constexpr std::array kNames<ReadBy> = {Named{"every_rank", ReadBy::kEveryRank},
                                              Named{"leader", ReadBy::kLeader}};

struct DataConfig {
  std::vector<std::string> sources = {};
  std::vector<double> weights = {};
  SampleOrder order = SampleOrder::kShuffled;
  uint64_t window_shards = 64;
  Packing packing = Packing::kConcatenate;
  bool separate_documents = true;
  ReadBy read = ReadBy::kEveryRank;
  int threads = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("sources", self.sources, "directories that `shoal prepare` made", not_empty());
    visit("weights", self.weights, "how often samples come from each source; none: from all alike",
          between(1e-12, 1e12));
    visit("order", self.order, "of the samples");
    visit("window_shards", self.window_shards, "shards that are open and mixed at a time",
          between(uint64_t{1}, uint64_t{1} << 20));
    visit("packing", self.packing,
          "concatenate cuts the tokens anywhere; best_fit keeps documents whole where they fit "
          "(prepared with --pack)");
    visit("separate_documents", self.separate_documents,
          "tokens see only their own document of a sample, and positions start anew in each");
    visit("read", self.read, "whether each rank reads its batches, or one reads for its peers");
    visit("threads", self.threads, "that read ahead, per rank", between(1, 256));
  }
};

}  // namespace shoal::config
