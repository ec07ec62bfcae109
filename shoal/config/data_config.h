// data_config.h -- which tokens a run sees, and in which order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/config/value.h"

namespace shoal::config {

class FieldList;

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
};

void list_fields(DataConfig& config, FieldList& list);

}  // namespace shoal::config
