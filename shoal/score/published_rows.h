// published_rows.h -- measurements that others published, as runs of ours: what `shoal plan` can be held
// against.
//
//   const PublishedRows kor22 = read_published("published/kor22.csv");
//   const PublishedRow& row = kor22.rows[0];
//   row.config, row.ranks, row.value        // a checked config, 8, 1.42 seconds
//
// published/README.md says where the rows come from and what their columns mean. A row is never changed to
// make it fit: what our strategies do not cover is returned with the reason.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/run_config.h"

namespace shoal::score {

enum class Metric : uint8_t {
  kStepTime,     // seconds of a step; throughputs are turned into it
  kPeakMemory,   // bytes: the most that was allocated
  kHeldMemory,   // bytes: allocated between steps
  kActivations,  // bytes, from here on of an engine that allocates each kind once
  kWeights,
  kGradients,
  kMoment,  // one of the optimizer's two
  kMasters,
};

std::string_view metric_name(Metric metric);  // "step time", "peak memory", ...
inline bool is_memory(Metric metric) { return metric != Metric::kStepTime; }

// Which rank was looked at.
enum class Scope : uint8_t { kWorstRank, kLastRank, kStage };

// What Megatron's loss leaves for its backward pass.
enum class LossKind : uint8_t {
  kPlain,  // softmax in fp32, computed in place
  kJit,    // compiled functions, which copy instead
  kFused,  // Transformer Engine's, which writes the gradient over the logits
};

// How their engine ran, where ours would run differently or does not care.
struct Setup {
  std::string engine{};  // "megatron-te", "llm.c", ...
  std::string gpu{};
  int gpus_per_node = 8;
  bool flash_attention = true;     // or scores are kept
  bool sequence_parallel = false;  // of tensor-parallel ranks; ours always are
  bool dummy_gradients = false;    // one for each shape of a weight is kept
  bool fp16 = false;               // planned as bf16
  double dropout = 0;              // ours is 0 in the config
  LossKind loss = LossKind::kPlain;
  bool attention_mask =
      false;  // the data loader makes a mask of context x context for each sequence
  bool context_by_heads = false;  // context ranks exchange heads (all-to-all), or keys in a ring
  int context_ranks = 1;          // counted as data-parallel ranks with shorter sequences
  Scope scope = Scope::kWorstRank;
  int stage = 0;  // with Scope::kStage
};

struct PublishedRow {
  std::string id;            // "kor22-011"
  config::RunConfig config;  // checked for `ranks`
  int ranks = 1;
  Metric metric = Metric::kStepTime;
  double value = 0;  // seconds or bytes
  Setup setup{};

  [[nodiscard]] std::string source() const { return id.substr(0, id.rfind('-')); }
};

struct UncoveredRow {
  std::string id;
  std::string reason;
};

struct PublishedRows {
  std::vector<PublishedRow> rows;
  std::vector<UncoveredRow> uncovered;
};

// Reads a table. Throws DataError that names file and line when a cell is not what its column holds.
PublishedRows read_published(const std::filesystem::path& file);

// The table of machines (machines.h), which stands beside those of rows.
inline constexpr const char* kMachinesFile = "machines.csv";

// Reads all tables of a directory, in the order of their names. Throws UsageError when there are none.
PublishedRows read_all_published(const std::filesystem::path& directory);

}  // namespace shoal::score
