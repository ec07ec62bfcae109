#include "shoal/score/published_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "shoal/config/check.h"
#include "shoal/core/error.h"
#include "shoal/core/limits.h"
#include "shoal/core/number_in.h"
#include "shoal/plan/composition.h"
#include "shoal/plan/schedule.h"
#include "shoal/score/csv_table.h"

namespace shoal::score {
namespace {

using config::RunConfig;

// Megatron's default, which vTrain's rows leave out.
constexpr int64_t kUsualVocabulary = 51'200;

struct MetricWord {
  std::string_view word;
  Metric metric;
};

constexpr std::array kMetricWords = {MetricWord{"step_time", Metric::kStepTime},
                                     MetricWord{"throughput", Metric::kStepTime},
                                     MetricWord{"achieved_flops", Metric::kStepTime},
                                     MetricWord{"peak_memory", Metric::kPeakMemory},
                                     MetricWord{"memory_static", Metric::kHeldMemory},
                                     MetricWord{"memory_activations", Metric::kActivations},
                                     MetricWord{"memory_params", Metric::kWeights},
                                     MetricWord{"memory_grads", Metric::kGradients},
                                     MetricWord{"memory_adam_m", Metric::kMoment},
                                     MetricWord{"memory_adam_v", Metric::kMoment},
                                     MetricWord{"memory_master", Metric::kMasters}};

// Why a row is not covered.
struct Uncovered {
  std::string reason;
};

// The cells of one row, as what their columns hold.
class Cells {
 public:
  Cells(const CsvTable& table, size_t row) : table_(table), row_(row) {}

  [[nodiscard]] const std::string& text(std::string_view column) const {
    return table_.cell(row_, column);
  }
  // What a source does not say is not guessed.
  [[nodiscard]] const std::string& stated(std::string_view column) const {
    if (empty(column)) throw Uncovered{format("{} is not stated", column)};
    return text(column);
  }
  [[nodiscard]] bool empty(std::string_view column) const { return text(column).empty(); }

  [[nodiscard]] int64_t count(std::string_view column, int64_t most) const {
    const auto value = number_in<int64_t>(stated(column));
    if (!value || *value < 1 || *value > most)
      refuse(column, format("an integer from 1 to {}", most));
    return *value;
  }
  [[nodiscard]] int small(std::string_view column) const {
    return static_cast<int>(count(column, kMaxRanks));
  }
  [[nodiscard]] double number(std::string_view column) const {
    const auto value = number_in<double>(text(column));
    if (!value || !std::isfinite(*value) || *value < 0) refuse(column, "a number of at least 0");
    return *value;
  }
  [[nodiscard]] bool truth(std::string_view column, bool if_empty) const {
    const std::string& cell = text(column);
    if (cell.empty()) return if_empty;
    if (cell != "0" && cell != "1") refuse(column, "0 or 1");
    return cell == "1";
  }
  // One of the names of an enum of the config.
  template <class Enum>
  [[nodiscard]] Enum named(std::string_view column) const {
    for (const auto& [name, value] : config::kNames<Enum>)
      if (name == stated(column)) return value;
    std::string names;
    for (const auto& [name, value] : config::kNames<Enum>)
      names += (names.empty() ? "" : ", ") + std::string(name);
    refuse(column, "one of " + names);
  }

  [[noreturn]] void refuse(std::string_view column, const std::string& wanted) const {
    throw DataError(format("{}: column {} is '{}', but holds {}", table_.place(row_), column,
                           text(column), wanted));
  }

 private:
  const CsvTable& table_;
  size_t row_;
};

bool pads_its_vocabulary(const Cells& cells) {
  return cells.text("engine").starts_with("megatron");
}

config::ModelConfig model_of(const Cells& cells) {
  const std::string& family = cells.text("family");
  if (family != "gpt" && family != "llama")
    throw Uncovered{format("a model of the kind: {}", family)};
  const bool llama = family == "llama";
  config::ModelConfig model;
  model.layers = static_cast<int>(cells.count("layers", 10'000));
  model.width = cells.count("hidden", 1 << 17);
  model.heads = static_cast<int>(cells.count("heads", 1 << 12));
  model.kv_heads = static_cast<int>(cells.count("kv_heads", 1 << 12));
  if (!cells.empty("head_dim")) model.head_width = cells.count("head_dim", 1 << 12);
  model.hidden = cells.count("ffn", 1 << 20);
  const int64_t context = cells.count("seq", 1 << 21);
  if (context % cells.small("cp") != 0) cells.refuse("seq", "a multiple of cp");
  model.context = context / cells.small("cp");
  const int64_t vocabulary =
      cells.empty("vocab") ? kUsualVocabulary : cells.count("vocab", 1 << 24);
  // Megatron makes each tensor-parallel rank's part a multiple of 128 (--make-vocab-size-divisible-by).
  const int64_t unit = pads_its_vocabulary(cells) ? 128 * cells.count("tp", 1024) : 1;
  model.vocab_size = (vocabulary + unit - 1) / unit * unit;
  model.positions = llama ? config::Positions::kRotary : config::Positions::kLearned;
  if (!cells.empty("positions")) model.positions = cells.named<config::Positions>("positions");
  model.norm = llama ? config::NormKind::kRms : config::NormKind::kLayer;
  model.activation = llama ? config::Activation::kSwiglu : config::Activation::kGelu;
  if (!cells.empty("mlp")) model.activation = cells.named<config::Activation>("mlp");
  model.bias = llama ? config::BiasOn::kNone : config::BiasOn::kAll;
  model.tied = cells.truth("tied", !llama);
  return model;
}

config::ParallelConfig parallel_of(const Cells& cells) {
  config::ParallelConfig parallel;
  parallel.tp = static_cast<int>(cells.count("tp", config::kMaxTensorRanks));
  parallel.pp = static_cast<int>(cells.count("pp", config::kMaxStages));
  parallel.chunks = static_cast<int>(cells.count("vpp", config::kMaxStages));
  if (parallel.chunks > 1) parallel.schedule = config::ScheduleKind::kInterleaved;
  parallel.dp_replicate = cells.small("dp_replicate");
  parallel.sharding = cells.named<config::Sharding>("sharding");
  const int64_t data_ranks = int64_t{cells.small("dp")} * cells.small("cp");
  if (data_ranks > kMaxRanks) cells.refuse("dp", format("at most {} ranks, times cp", kMaxRanks));
  if (data_ranks % parallel.dp_replicate != 0) cells.refuse("dp_replicate", "a divisor of dp x cp");
  parallel.dp_shard = static_cast<int>(data_ranks / parallel.dp_replicate);
  return parallel;
}

// Sizes of tensors in bytes, summed over layers, have to fit into 63 bits, and micro-batches into a list.
void require_countable(const Cells& cells, const RunConfig& config) {
  constexpr double kMostScores = 1e15;
  const auto tokens = static_cast<double>(*config.train.micro_batch * config.model.context);
  if (tokens * config.model.heads * static_cast<double>(config.model.context) > kMostScores ||
      tokens > 1 << 26)
    cells.refuse("micro_batch", "sequences of which a device computes that many at once");
  const int64_t data_ranks = int64_t{*config.parallel.dp_shard} * config.parallel.dp_replicate;
  if (config.train.batch / plan::kMaxMicroBatches > *config.train.micro_batch * data_ranks)
    cells.refuse("global_batch",
                 format("at most {} micro-batches of a rank", plan::kMaxMicroBatches));
}

RunConfig config_of(const Cells& cells, int ranks) {
  RunConfig config;
  config.model = model_of(cells);
  config.parallel = parallel_of(cells);
  config.train.micro_batch = cells.count("micro_batch", 1 << 16);
  config.train.batch = cells.count("global_batch", 1 << 24) * cells.small("cp");
  require_countable(cells, config);
  config.train.recompute = cells.named<config::Recompute>("recompute");
  if (const std::string& precision = cells.text("precision");
      precision != "bf16" && precision != "fp16")
    throw Uncovered{"products in " + precision};
  config.train.precision = config::Precision::kBf16;  // fp16 has as many bytes and operations
  std::vector<config::Problem> problems = config::check(config, {.ranks = ranks});
  if (problems.empty()) problems = plan::why_not(config, ranks);
  if (!problems.empty()) throw Uncovered{problems[0].where + ": " + problems[0].what};
  return config::resolve(config, {.ranks = ranks});
}

// Operations of a step as Narayanan et al. 2021 count them (eq. 3): four passes, because blocks are
// recomputed.
double operations_2021(const RunConfig& config) {
  const config::ModelConfig& model = config.model;
  const auto layers = static_cast<double>(model.layers);
  const auto width = static_cast<double>(model.width);
  const auto context = static_cast<double>(model.context);
  const auto vocabulary = static_cast<double>(*model.vocab_size);
  return 96 * static_cast<double>(config.train.batch) * context * layers * width * width *
         (1 + context / (6 * width) + vocabulary / (16 * layers * width));
}

// Seconds or bytes.
double value_of(const Cells& cells, const RunConfig& config, int ranks) {
  const double value = cells.number("value");
  const std::string& unit = cells.text("unit");
  if (value == 0) cells.refuse("value", "a measurement");
  const auto tokens = static_cast<double>(config.train.batch * config.model.context);
  if (unit == "s" || unit == "bytes") return value;
  if (unit == "ms") return value / 1000;
  if (unit == "MiB") return value * 1024 * 1024;
  if (unit == "GiB") return value * 1024 * 1024 * 1024;
  if (unit == "tokens/s/GPU") return tokens / (value * ranks);
  if (unit == "samples/s/GPU") return static_cast<double>(config.train.batch) / (value * ranks);
  if (unit == "GB") return value * 1e9;
  if (unit == "TFLOP/s/GPU") {
    if (config.train.recompute != config::Recompute::kFull)
      throw Uncovered{"operations counted for full recomputation, of a run without it"};
    return operations_2021(config) / (value * 1e12 * ranks);
  }
  cells.refuse("unit", "s, ms, bytes, MiB, GiB, GB, tokens/s/GPU, samples/s/GPU or TFLOP/s/GPU");
}

Setup setup_of(const Cells& cells) {
  Setup setup;
  setup.engine = cells.text("engine");
  setup.gpu = cells.text("gpu");
  setup.gpus_per_node = cells.small("gpus_per_node");
  if (cells.text("attention") != "flash" && cells.text("attention") != "unfused")
    cells.refuse("attention", "flash or unfused");
  setup.flash_attention = cells.text("attention") == "flash";
  setup.sequence_parallel = cells.truth("sp", false);
  setup.dummy_gradients = cells.truth("dummy_grads", false);
  setup.fp16 = cells.text("precision") == "fp16";
  setup.dropout = cells.number("dropout");
  const std::string& loss = cells.text("loss");
  if (loss == "deferred") throw Uncovered{"the weight gradient of the head is deferred"};
  if (!loss.empty() && loss != "plain" && loss != "jit" && loss != "te")
    cells.refuse("loss", "plain, jit, te, deferred or nothing");
  setup.loss = loss == "te" ? LossKind::kFused : loss == "jit" ? LossKind::kJit : LossKind::kPlain;
  setup.attention_mask = cells.truth("mask", false);
  const std::string& context = cells.text("context");
  if (!context.empty() && context != "ring" && context != "heads")
    cells.refuse("context", "ring, heads or nothing");
  setup.context_by_heads = context == "heads";
  setup.context_ranks = cells.small("cp");
  const std::string& scope = cells.text("scope");
  if (scope == "last rank") {
    setup.scope = Scope::kLastRank;
  } else if (scope.starts_with("stage ") && scope.size() == 7 && scope[6] >= '0' &&
             scope[6] <= '9') {
    setup.scope = Scope::kStage;
    setup.stage = scope[6] - '0';
  } else if (!scope.empty() && scope != "worst rank") {
    cells.refuse("scope", "worst rank, last rank, stage N or nothing");
  }
  return setup;
}

PublishedRow row_of(const Cells& cells) {
  const auto word =
      std::find_if(kMetricWords.begin(), kMetricWords.end(),
                   [&](const MetricWord& m) { return m.word == cells.text("metric"); });
  if (word == kMetricWords.end()) cells.refuse("metric", "one that published/README.md lists");
  PublishedRow row;
  row.id = cells.text("id");
  row.metric = word->metric;
  row.ranks = cells.small("gpus");
  row.setup = setup_of(cells);
  if (row.setup.context_ranks > 1 && row.metric == Metric::kStepTime)
    throw Uncovered{"context parallelism: its memory can be compared, its time cannot"};
  row.config = config_of(cells, row.ranks);
  row.value = value_of(cells, row.config, row.ranks);
  return row;
}

}  // namespace

std::string_view metric_name(Metric metric) {
  switch (metric) {
    case Metric::kStepTime:
      return "step time";
    case Metric::kPeakMemory:
      return "peak memory";
    case Metric::kHeldMemory:
      return "memory between steps";
    case Metric::kActivations:
      return "activations";
    case Metric::kWeights:
      return "weights";
    case Metric::kGradients:
      return "gradients";
    case Metric::kMoment:
      return "a moment";
    case Metric::kMasters:
      return "masters";
  }
  throw BugError("no such metric");
}

PublishedRows read_published(const std::filesystem::path& file) {
  const CsvTable table = read_csv(file);
  PublishedRows found;
  for (size_t i = 0; i < table.num_rows(); ++i) {
    const Cells cells(table, i);
    try {
      found.rows.push_back(row_of(cells));
    } catch (const Uncovered& uncovered) {
      found.uncovered.push_back({cells.text("id"), uncovered.reason});
    }
  }
  return found;
}

PublishedRows read_all_published(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    if (entry.path().extension() == ".csv" && entry.path().filename() != kMachinesFile)
      files.push_back(entry.path());
  if (files.empty())
    throw UsageError(
        format("{}: no tables of published measurements (*.csv); name the directory "
               "`published` of the sources",
               directory.string()));
  std::sort(files.begin(), files.end());
  PublishedRows all;
  for (const std::filesystem::path& file : files) {
    PublishedRows found = read_published(file);
    std::move(found.rows.begin(), found.rows.end(), std::back_inserter(all.rows));
    std::move(found.uncovered.begin(), found.uncovered.end(), std::back_inserter(all.uncovered));
  }
  return all;
}

}  // namespace shoal::score
