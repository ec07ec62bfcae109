#include "shoal/verify/random_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/random.h"
#include "shoal/plan/composition.h"

namespace shoal::verify {
namespace {

constexpr int64_t kMadeUpVocabulary = 257;
constexpr double kLeastEpsilon = 1e-3;

// Random numbers of one case, in the order of the calls.
class Dice {
 public:
  Dice(uint64_t seed, std::string_view what, uint64_t number)
      : random_(seed, RandomStream::kCheck, what), next_(number << 20) {}

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(static_cast<double>(random_.uniform(next_++)) *
                                      static_cast<double>(high - low + 1));
  }
  bool chance(double share) { return random_.uniform(next_++) < share; }
  // Draws log-uniformly: as likely from 1 to 10 as from 1,000 to 10,000.
  int64_t of_any_size(int64_t low, int64_t high) {
    const double exponent = random_.uniform(next_++);
    return static_cast<int64_t>(
        static_cast<double>(low) *
        std::pow(static_cast<double>(high) / static_cast<double>(low), exponent));
  }
  template <size_t kCount>
  std::string one_of(const std::array<const char*, kCount>& names) {
    return names[static_cast<size_t>(between(0, static_cast<int64_t>(kCount) - 1))];
  }

 private:
  Random random_;
  uint64_t next_;
};

using Sets = std::map<std::string, std::string>;

int64_t number_of(const Sets& sets, const std::string& key, int64_t otherwise = 1) {
  const auto found = sets.find(key);
  return found == sets.end() ? otherwise : std::stoll(found->second);
}

void draw_model(Dice& dice, Sets& sets) {
  const auto set = [&](const std::string& key, const auto& value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string>)
      sets["model." + key] = value;
    else
      sets["model." + key] = std::to_string(value);
  };
  const int64_t tp = number_of(sets, "parallel.tp");
  const int64_t heads = dice.between(tp, std::max<int64_t>(6, tp));
  int64_t kv_heads = dice.between(1, heads);
  while (heads % kv_heads != 0) --kv_heads;
  const std::string positions =
      dice.one_of(std::array{"learned", "sinusoidal", "rotary", "rotary"});
  set("layers", dice.between(1, std::max<int64_t>(5, number_of(sets, "parallel.pp"))));
  set("heads", heads);
  if (kv_heads != heads) set("kv_heads", kv_heads);
  const int64_t pair = positions == "rotary" ? 2 : 1;
  if (dice.chance(0.5)) {
    set("head_width", dice.between(1, 5) * pair);
    set("width", positions == "sinusoidal" ? 2 * dice.between(1, 15) : dice.between(2, 31));
  } else {
    set("width", heads * dice.between(1, 5) * (positions == "learned" ? 1 : 2));
  }
  set("hidden", dice.between(1, 53));
  set("context", dice.between(2, 23));
  // Rarely, the vocabulary is so large that losses and gradients take several pieces.
  set("vocab_size", dice.chance(0.02) ? int64_t{20'011} : dice.of_any_size(11, 300));
  set("positions", positions);
  set("norm", dice.one_of(std::array{"layer", "rms", "plain"}));
  if (dice.chance(0.3)) set("norm_place", std::string("after"));
  if (dice.chance(0.4)) set("qk_norm", dice.one_of(std::array{"width", "head"}));
  set("activation", dice.one_of(std::array{"gelu", "gelu_tanh", "swiglu"}));
  set("bias", dice.one_of(std::array{"all", "qkv", "none"}));
  if (dice.chance(0.5)) set("tied", std::string("false"));
  if (dice.chance(0.3)) set("dropout", dice.one_of(std::array{"0.1", "0.5"}));
  // These give gradients of some size, and norms that do not amplify tiny values.
  set("init_std", std::string("0.2"));
  set("norm_epsilon", std::string("1.0e-3"));
}

// In low precision the model must not be chaotic: otherwise one rank's distance from fp64 would be
// a matter of luck, and so would the layout's.
void draw_precision(Dice& dice, Sets& sets) {
  sets["train.precision"] =
      dice.one_of(std::array{"fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp32", "bf16"});
  if (sets["train.precision"] == "fp64") return;
  sets.erase("model.norm_place");
  sets["model.init_std"] = "0.05";
  sets["model.layers"] =
      std::to_string(dice.between(2, std::max<int64_t>(3, number_of(sets, "parallel.pp"))));
  // Larger sums, so that round-off averages out.
  const int64_t heads = number_of(sets, "model.heads");
  sets.erase("model.head_width");
  sets["model.width"] =
      std::to_string(heads * 2 * dice.between((11 + heads) / heads, (20 + heads) / heads));
  sets["model.context"] = std::to_string(dice.between(11, 23));
}

void draw_training(Dice& dice, Sets& sets) {
  sets["run.seed"] = std::to_string(dice.between(0, 1 << 20));
  sets["optimizer.kind"] = dice.one_of(std::array{"adamw", "adamw", "sgd", "muon"});
  sets["optimizer.lr"] = "0.01";
  sets["optimizer.epsilon"] = "1.0e-3";  // AdamW would otherwise amplify round-off
  sets["optimizer.clip"] = dice.one_of(std::array{"0", "0.5", "1"});
  if (dice.chance(0.3)) sets["optimizer.weight_decay"] = "0";
  const int64_t data_ranks =
      number_of(sets, "parallel.dp_replicate") * number_of(sets, "parallel.dp_shard");
  sets["train.batch"] = std::to_string(dice.between(data_ranks, 13));
  if (dice.chance(0.7)) sets["train.micro_batch"] = std::to_string(dice.between(1, 4));
  if (dice.chance(0.5)) sets["train.recompute"] = dice.one_of(std::array{"selective", "full"});
  if (dice.chance(0.3)) sets["data.separate_documents"] = "false";
}

// Gives each prime factor of the ranks to a random axis.
void draw_degrees(Dice& dice, int ranks, Sets& sets) {
  constexpr std::array kAxes = {"parallel.dp_replicate", "parallel.dp_shard", "parallel.pp",
                                "parallel.tp"};
  for (const char* const axis : kAxes) sets.erase(axis);
  if (dice.chance(0.2)) {  // all ranks to one axis
    sets[dice.one_of(kAxes)] = std::to_string(ranks);
    ranks = 1;
  }
  for (int factor = 2; ranks > 1; ++factor) {
    for (; ranks % factor == 0; ranks /= factor) {
      const std::string axis = dice.one_of(kAxes);
      sets[axis] = std::to_string(number_of(sets, axis) * factor);
    }
  }
  if (!sets.contains("parallel.dp_shard")) sets["parallel.dp_shard"] = "1";
}

// Draws everything of a layout except its degrees.
void draw_layout(Dice& dice, Sets& sets) {
  const auto set = [&](const std::string& key, std::string value) {
    sets["parallel." + key] = std::move(value);
  };
  set("sharding", dice.one_of(std::array{"no_shard", "optimizer", "shard_grad_op", "full_shard",
                                         "hybrid_shard"}));
  const std::string units =
      dice.one_of(std::array{"by_block", "by_block_and_size", "by_block_group", "size_based"});
  set("units", units);
  if (units == "by_block_group") set("unit_blocks", std::to_string(dice.between(1, 4)));
  if (units == "size_based") set("unit_parameters", std::to_string(dice.of_any_size(100, 50'000)));
  set("prefetch", std::to_string(dice.between(0, 3)));
  if (dice.chance(0.3)) set("reshard_after_forward", "false");
  if (dice.chance(0.5)) set("grad_sync", dice.one_of(std::array{"batch", "micro_batch"}));
  if (number_of(sets, "parallel.pp") == 1) return;
  const std::string schedule = dice.one_of(std::array{"gpipe", "1f1b", "interleaved"});
  set("schedule", schedule);
  if (schedule == "interleaved") set("chunks", std::to_string(dice.between(2, 3)));
}

bool can_run(const RandomCase& candidate) {
  try {
    const config::RunConfig config = candidate.config();
    return plan::why_not(config, candidate.ranks).empty();
  } catch (const UsageError&) {
    return false;
  }
}

// Returns the simplest value of a key; for keys not listed it is the default.
const std::map<std::string, std::string>& simplest_values() {
  static const std::map<std::string, std::string> values = {{"model.layers", "1"},
                                                            {"model.heads", "1"},
                                                            {"model.width", "2"},
                                                            {"model.hidden", "1"},
                                                            {"model.context", "2"},
                                                            {"model.vocab_size", "3"},
                                                            {"train.batch", "1"},
                                                            {"optimizer.kind", "sgd"},
                                                            {"model.init_std", "0.2"},
                                                            {"optimizer.clip", "0"},
                                                            {"model.norm_epsilon", "1.0e-3"},
                                                            {"optimizer.lr", "0.01"},
                                                            {"optimizer.epsilon", "1.0e-3"},
                                                            {"train.precision", "fp64"},
                                                            {"parallel.dp_shard", "1"},
                                                            {"parallel.prefetch", "0"}};
  return values;
}

bool is_size(const std::string& key) {
  return key == "model.layers" || key == "model.heads" || key == "model.width" ||
         key == "model.hidden" || key == "model.context" || key == "model.vocab_size" ||
         key == "model.head_width" || key == "model.kv_heads" || key == "train.batch" ||
         key == "train.micro_batch" || key == "parallel.unit_parameters";
}

int ranks_of(const Sets& sets) {
  int64_t ranks = 1;
  for (const char* const axis :
       {"parallel.dp_replicate", "parallel.dp_shard", "parallel.pp", "parallel.tp"})
    ranks *= number_of(sets, axis);
  return static_cast<int>(ranks);
}

}  // namespace

config::RunConfig compared(config::RunConfig config) {
  config.train.init_from = config::kFromScratch;
  config.optimizer.lr_schedule = config::LrSchedule::kConstant;
  config.optimizer.warmup = 0;
  config.optimizer.scale_by_ranks = false;
  if (config.train.precision != config::Precision::kFp64)
    config.optimizer.epsilon = std::max(config.optimizer.epsilon, kLeastEpsilon);
  if (!config.model.vocab_size) config.model.vocab_size = kMadeUpVocabulary;
  return config;
}

config::RunConfig RandomCase::config() const {
  std::vector<std::string> texts;
  for (const auto& [key, value] : sets) texts.push_back(key + "=" + value);
  return compared(
      config::load_or_throw({.sets = std::move(texts), .job = config::JobSize{ranks, ranks}}));
}

std::string RandomCase::command() const {
  std::string text = format("shoal verify --ranks {}", ranks);
  for (const auto& [key, value] : sets) {
    if (key == "train.precision")
      text += " --precision " + value;
    else
      text += " --set " + key + "=" + value;
  }
  return text;
}

RandomCase draw_case(uint64_t seed, uint64_t number, const DrawOptions& options) {
  Dice dice(seed, "case", number);
  RandomCase drawn{.ranks = static_cast<int>(dice.between(2, options.most_ranks))};
  Sets degrees;
  draw_degrees(dice, drawn.ranks, degrees);
  // Draws models until one fits the degrees: otherwise degrees that fit few models would be rare.
  for (;;) {
    drawn.sets = degrees;
    draw_model(dice, drawn.sets);
    draw_training(dice, drawn.sets);
    draw_precision(dice, drawn.sets);
    draw_layout(dice, drawn.sets);
    if (can_run(drawn)) return drawn;
  }
}

RandomCase on_another_layout(const RandomCase& of,
                             uint64_t seed,
                             uint64_t number,
                             const DrawOptions& options) {
  Dice dice(seed, "layout", number);
  for (;;) {
    RandomCase drawn{.ranks = static_cast<int>(dice.between(1, options.most_ranks)),
                     .sets = of.sets};
    std::erase_if(drawn.sets, [](const auto& set) { return set.first.starts_with("parallel."); });
    draw_degrees(dice, drawn.ranks, drawn.sets);
    draw_layout(dice, drawn.sets);
    if (can_run(drawn)) return drawn;
  }
}

std::vector<RandomCase> simpler(const RandomCase& of) {
  std::vector<RandomCase> fewer_ranks;
  std::vector<RandomCase> fewer_features;
  std::vector<RandomCase> smaller;
  const auto consider = [&](std::vector<RandomCase>& into, Sets sets) {
    RandomCase candidate{.ranks = ranks_of(sets), .sets = std::move(sets)};
    if (candidate.ranks > 1 && candidate != of && can_run(candidate))
      into.push_back(std::move(candidate));
  };
  for (const auto& [key, value] : of.sets) {
    const bool degree = key == "parallel.dp_replicate" || key == "parallel.dp_shard" ||
                        key == "parallel.pp" || key == "parallel.tp";
    const auto simplest = simplest_values().find(key);
    Sets sets = of.sets;
    if (degree) {
      for (int64_t lower = 1; lower < number_of(of.sets, key); ++lower) {
        sets[key] = std::to_string(lower);
        consider(fewer_ranks, sets);
      }
      continue;
    }
    if (simplest == simplest_values().end())
      sets.erase(key);
    else
      sets[key] = simplest->second;
    consider(is_size(key) ? smaller : fewer_features, sets);
    if (!is_size(key)) continue;
    const int64_t now = number_of(of.sets, key);
    for (const int64_t lower : {(now + 1) / 2, now - 1}) {
      if (lower < 1 || lower >= now) continue;
      sets[key] = std::to_string(lower);
      consider(smaller, sets);
    }
  }
  std::stable_sort(fewer_ranks.begin(), fewer_ranks.end(),
                   [](const RandomCase& a, const RandomCase& b) { return a.ranks < b.ranks; });
  std::vector<RandomCase> all = std::move(fewer_ranks);
  all.insert(all.end(), fewer_features.begin(), fewer_features.end());
  all.insert(all.end(), smaller.begin(), smaller.end());
  return all;
}

}  // namespace shoal::verify
