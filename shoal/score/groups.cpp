#include "shoal/score/groups.h"

#include <algorithm>
#include <array>
#include <optional>

#include "shoal/core/error.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/step_time.h"
#include "shoal/score/llmc_memory.h"
#include "shoal/score/megatron_memory.h"

namespace shoal::score {
namespace {

std::string first_word(const std::string& name) { return name.substr(0, name.find('-')); }

// The memory in a device's name, "80GB" of "H100-80GB-SXM"; nothing when there is none.
std::string size_in(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('-', begin), name.size());
    std::string word = name.substr(begin, end - begin);
    const std::string digits = word.ends_with("GB") ? word.substr(0, word.size() - 2) : "";
    if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos) return word;
    begin = end + 1;
  }
  return "";
}

// The ranks whose memory was measured, of one data-parallel place.
std::vector<int> measured_ranks(const PublishedRow& row, const plan::Mesh& mesh) {
  if (row.setup.scope == Scope::kLastRank) return {mesh.num_ranks() - 1};
  std::vector<int> ranks;
  for (const int rank : mesh.peers(0, {plan::Axis::kPp, plan::Axis::kTp}))
    if (row.setup.scope == Scope::kWorstRank ||
        mesh.position(rank, plan::Axis::kPp) == row.setup.stage)
      ranks.push_back(rank);
  return ranks;
}

double megatron_bytes(const PublishedRow& row) {
  const plan::PlannedJob job(row.config, plan::mesh_of(row.config.parallel, row.ranks));
  const MegatronRules rules(row.setup);
  int64_t most = 0;
  for (const int number : measured_ranks(row, job.mesh())) {
    const auto [plan, program] = job.rank(number);
    most = std::max(most, row.metric == Metric::kHeldMemory
                              ? rules.held(plan)
                              : plan::memory_of(plan, program, rules).peak());
  }
  return static_cast<double>(most);
}

double llmc_bytes(const PublishedRow& row) {
  const plan::RankPlan plan =
      plan::plan_of(row.config, plan::mesh_of(row.config.parallel, row.ranks), /*rank=*/0);
  const plan::Memory memory = plan::memory_of(plan, plan::training_program(plan), LlmcRules());
  switch (row.metric) {
    case Metric::kActivations:
      return static_cast<double>(memory.activations);
    case Metric::kWeights:
      return static_cast<double>(memory.weights);
    case Metric::kGradients:
      return static_cast<double>(memory.gradients);
    case Metric::kMasters:
      return static_cast<double>(memory.masters);
    case Metric::kMoment:
      return static_cast<double>(memory.optimizer) / 2;
    default:
      throw BugError("llm.c prints its allocations one by one");
  }
}

// The only row of kor22 with data-parallel ranks. Calculon's error is of the other eight, so that this one
// is a group of its own.
constexpr std::string_view kWithDataRanks = "kor22-027";

// A source of step times, and the error of the tool that is to be beaten on the same rows.
struct Known {
  const char* source;
  std::optional<double> to_beat = std::nullopt;
  const char* held_by = "";
};

constexpr std::array<Known, 11> kTimed = {{{"kor22", 0.0365, "Calculon"},
                                           {"vtm", 0.1473, "vTrain"},
                                           {"vts", 0.0837, "vTrain"},
                                           {"meg21"},
                                           {"msc"},
                                           {"llmc"},
                                           {"mci"},
                                           {"tt24"},
                                           {"zb"},
                                           {"tt25"},
                                           {"smxB", 0.0468, "SimuMax"}}};

}  // namespace

bool was_measured_on(const PublishedRow& row, const config::ClusterConfig& cluster) {
  const std::string& gpu = row.setup.gpu;
  const std::string& device = cluster.device.name;
  const std::string size = size_in(gpu);
  const std::string of_device = size_in(device);
  return first_word(gpu) == first_word(device) &&
         (size == of_device || size.empty() || of_device.empty());
}

std::vector<double> step_seconds(const PublishedRow& row,
                                 const std::vector<config::ClusterConfig>& clusters) {
  const std::vector<plan::PlannedRank> stages =
      plan::PlannedJob(row.config, plan::mesh_of(row.config.parallel, row.ranks)).stages();
  std::vector<double> seconds;
  seconds.reserve(clusters.size());
  for (config::ClusterConfig cluster : clusters) {
    cluster.device.flash_attention = row.setup.flash_attention;
    cluster.devices_per_node = row.setup.gpus_per_node;
    seconds.push_back(plan::step_time(stages, cluster).seconds);
  }
  return seconds;
}

double step_seconds(const PublishedRow& row, const config::ClusterConfig& cluster) {
  return step_seconds(row, std::vector{cluster}).front();
}

std::vector<Group> memory_groups() {
  const auto peak_of = [](const char* source, Scope scope) {
    return [of = from(source, Metric::kPeakMemory), scope](const PublishedRow& row) {
      return of(row) && row.setup.scope == scope;
    };
  };
  // SimuMax's errors are those of its own predictions for these same rows.
  // The number of workspaces in MegatronRules is what rows 13, 15 and 39 of mci leave.
  return {
      {.name = "mci, between steps",
       .holds = from("mci", Metric::kHeldMemory),
       .predict = megatron_bytes,
       .evidence = Evidence::kFit},
      {.name = "mci, peak",
       .holds = from("mci", Metric::kPeakMemory),
       .predict = megatron_bytes,
       .evidence = Evidence::kFit},
      {.name = "mci26, between steps",
       .holds = from("mci26", Metric::kHeldMemory),
       .predict = megatron_bytes,
       .evidence = Evidence::kSeen},
      {.name = "mci26, peak",
       .holds = from("mci26", Metric::kPeakMemory),
       .predict = megatron_bytes,
       .evidence = Evidence::kSeen},
      {.name = "smxB, peak of the worst rank",
       .holds = peak_of("smxB", Scope::kWorstRank),
       .predict = megatron_bytes,
       .to_beat = 0.0040,
       .held_by = "SimuMax",
       .evidence = Evidence::kSeen},
      {.name = "smxB, peak of a stage",
       .holds = peak_of("smxB", Scope::kStage),
       .predict = megatron_bytes,
       .to_beat = 0.0020,
       .held_by = "SimuMax",
       .evidence = Evidence::kSeen},
      {.name = "smxA, peak of the worst rank",
       .holds = peak_of("smxA", Scope::kWorstRank),
       .predict = megatron_bytes,
       .to_beat = 0.0106,
       .held_by = "SimuMax"},
      {.name = "zb, peak of the worst rank",
       .holds = peak_of("zb", Scope::kWorstRank),
       .predict = megatron_bytes},
      {.name = "llmc, allocations",
       .holds =
           [](const PublishedRow& row) { return row.source() == "llmc" && is_memory(row.metric); },
       .predict = llmc_bytes,
       .evidence = Evidence::kSeen}};
}

std::vector<std::string> timed_sources() {
  std::vector<std::string> sources;
  sources.reserve(kTimed.size());
  for (const Known& known : kTimed) sources.emplace_back(known.source);
  return sources;
}

Group time_group(const Machine& machine) {
  const config::ClusterConfig& cluster = machine.cluster;
  Group group{.name = machine.source + " on " + first_word(cluster.device.name),
              .holds =
                  [of = from(machine.source, Metric::kStepTime), cluster](const PublishedRow& row) {
                    return of(row) && was_measured_on(row, cluster) && row.id != kWithDataRanks;
                  },
              .predict = [cluster](const PublishedRow& row) { return step_seconds(row, cluster); },
              .evidence = machine.evidence};
  for (const Known& known : kTimed) {
    if (known.source != machine.source) continue;
    group.to_beat = known.to_beat;
    group.held_by = known.held_by;
  }
  return group;
}

std::vector<Group> time_groups(const Machine& machine) {
  std::vector<Group> groups = {time_group(machine)};
  if (machine.source != PublishedRow{.id = std::string(kWithDataRanks)}.source()) return groups;
  Group other = groups.front();
  other.name += ", 8 data ranks";
  other.holds = [cluster = machine.cluster](const PublishedRow& row) {
    return row.id == kWithDataRanks && was_measured_on(row, cluster);
  };
  other.to_beat = std::nullopt;
  other.held_by.clear();
  groups.push_back(std::move(other));
  return groups;
}

}  // namespace shoal::score
