#include "shoal/picture/plan_facts.h"

#include <algorithm>
#include <set>

#include "shoal/core/error.h"
#include "shoal/core/format.h"
#include "shoal/picture/chart.h"

namespace shoal::picture {

MemoryParts parts_of(const plan::Memory& memory, int64_t beside) {
  return {{{Ink::kWeights, memory.weights},
           {Ink::kGradients, memory.gradients},
           {Ink::kMasters, memory.masters},
           {Ink::kMoments, memory.optimizer},
           {Ink::kGatheredWeights, memory.whole_weights},
           {Ink::kWholeGradients, memory.whole_gradients},
           {Ink::kActivations, memory.activations},
           {Ink::kBesideTensors, beside}}};
}

std::optional<int64_t> PlanFacts::capacity() const {
  if (!cluster) return std::nullopt;
  return static_cast<int64_t>(cluster->device.memory_gb * 1e9);
}

bool PlanFacts::fits() const {
  return std::all_of(stages.begin(), stages.end(), [this](const StageMemory& stage) {
    return stage.total() <= capacity().value();
  });
}

double PlanFacts::tokens_per_second() const {
  return static_cast<double>(config().train.batch * config().model.context) / time->seconds;
}

double PlanFacts::mfu() const {
  return plan::mfu(config(), mesh().num_ranks(), *cluster, time->seconds);
}

PlanFacts facts_of(const config::RunConfig& config,
                   const plan::Mesh& mesh,
                   const std::optional<config::ClusterConfig>& cluster,
                   const plan::StepObserver& observe) {
  const plan::PlannedJob job(config, mesh);
  const std::vector<plan::StagePeak> peaks = plan::stage_peaks(job);
  PlanFacts facts{.fullest = plan::fullest_rank(job, peaks), .cluster = cluster};
  const plan::DeviceKind kind = cluster ? plan::kind_of(cluster->device) : plan::DeviceKind::kGpu;
  for (const plan::StagePeak& peak : peaks)
    facts.stages.push_back(
        {peak, plan::device_allowance(kind, job.rank(peak.rank).plan, peak.memory)});
  if (cluster) facts.time = plan::step_time(job.stages(), *cluster, observe);
  return facts;
}

std::vector<size_t> some_of(size_t count, size_t most, size_t kept) {
  SHOAL_CHECK(most >= 3 && kept < count, "{} of {} things with number {}", most, count, kept);
  std::set<size_t> chosen;
  if (count > most) chosen = {kept, count - 1};
  for (size_t i = 0; i < count && chosen.size() < most; ++i) chosen.insert(i);
  return {chosen.begin(), chosen.end()};
}

}  // namespace shoal::picture
