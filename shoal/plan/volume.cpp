#include "shoal/plan/volume.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "shoal/blueprint/tensor_split.h"
#include "shoal/core/error.h"
#include "shoal/plan/rank_work.h"
#include "shoal/plan/whole_matrices.h"

namespace shoal::plan {
namespace {

using config::ModelConfig;
using config::RunConfig;
using config::UnitKind;

constexpr std::array<std::string_view, kNumTraffics> kTrafficNames = {"weights",
                                                                      "gradients",
                                                                      "gradients over copies",
                                                                      "partial gradients",
                                                                      "tied matrix",
                                                                      "tensor activations",
                                                                      "keys and values",
                                                                      "qk norm",
                                                                      "embedding",
                                                                      "head",
                                                                      "activations",
                                                                      "activation gradients",
                                                                      "targets",
                                                                      "loss",
                                                                      "norm",
                                                                      "matrices"};

constexpr std::array<std::string_view, 5> kExchangeNames = {"all_gather", "reduce_scatter",
                                                            "all_reduce", "send", "recv"};

class Counter {
 public:
  Counter(const RunConfig& config, const Mesh& mesh, int rank)
      : config_(config),
        mesh_(mesh),
        rank_(rank),
        work_(work_of(config, mesh, rank)),
        tp_(mesh.size(Axis::kTp)) {}

  std::vector<Volume> count() {
    for (size_t chunk = 0; chunk < work_.stages.size(); ++chunk) {
      const StageWork& stage = work_.stages[chunk];
      for (const GroupWork& group : stage.groups) count_group(static_cast<int>(chunk), group);
      for (const int64_t rows : work_.rows) count_pass(stage, rows);
    }
    count_scalars();
    if (config_.optimizer.kind == config::OptimizerKind::kMuon) count_matrices();
    std::vector<Volume> volumes;
    for (const auto& [key, volume] : volumes_) volumes.push_back(volume);
    return volumes;
  }

 private:
  // Calls of `bytes` each.
  void add(Traffic traffic, Exchange exchange, AxisSet axes, int64_t calls, int64_t bytes) {
    const int ranks = mesh_.size(axes);
    if (ranks == 1 || calls == 0 || bytes == 0) return;
    Volume& volume = volumes_[{traffic, exchange}];
    volume.traffic = traffic;
    volume.exchange = exchange;
    volume.axes = mesh_.crowded(axes);
    volume.ranks = ranks;
    volume.calls += calls;
    volume.bytes += calls * bytes;
  }

  // ---- weights and their gradients ----

  // How often a group that is not whole becomes so: it depends on which passes find it open.
  [[nodiscard]] int64_t gathers_of(int chunk, const GroupWork& group) const {
    int64_t gathers = 0;
    bool open = false;
    for (const Action& action : work_.actions) {
      if (action.chunk != chunk) continue;
      if (!open) ++gathers;
      open = action.op == Op::kForward && group.open_between;
    }
    return gathers;
  }

  void count_group(int chunk, const GroupWork& group) {
    const StageWork& stage = work_.stages[static_cast<size_t>(chunk)];
    const int64_t reductions = group.policy.keep_gradients ? 1 : work_.micro_batches();
    add(Traffic::kWeights, Exchange::kAllGather, work_.shards,
        group.policy.keep_weights ? 1 : gathers_of(chunk, group),
        group.whole * work_.bytes.compute);
    add(Traffic::kGradients, Exchange::kReduceScatter, work_.shards, reductions,
        group.whole * work_.bytes.gradient);
    add(Traffic::kGradientsOverCopies, Exchange::kAllReduce, work_.replicas, 1,
        group.shard * work_.bytes.gradient);
    for (const size_t unit : group.units) count_unit(stage.units[unit], reductions);
  }

  void count_unit(const blueprint::UnitBlueprint& unit, int64_t reductions) {
    int64_t partial = 0;
    for (const blueprint::WeightSpec& weight : unit.weights) {
      if (!weight.split) partial += weight.local_elements();
      if (weight.name != blueprint::kTiedMatrix || !config_.model.tied) continue;
      const int64_t bytes = weight.local_elements() * work_.bytes.gradient;
      add(Traffic::kTiedGradient, Exchange::kSend, Axis::kPp, 1, bytes);
      add(Traffic::kTiedGradient, Exchange::kReceive, Axis::kPp, 1, bytes);
    }
    add(Traffic::kPartialGradients, Exchange::kAllReduce, Axis::kTp, reductions,
        partial * work_.bytes.gradient);
  }

  // ---- activations ----

  void count_pass(const StageWork& stage, int64_t sequences) {
    const int64_t tokens = sequences * config_.model.context;
    const int64_t own_rows =
        blueprint::largest_share(tokens, tp_) * config_.model.width * work_.bytes.compute;
    const int64_t all_rows = own_rows * tp_;
    count_neighbours(stage, own_rows);
    if (stage.range.embedding) {
      add(Traffic::kEmbedding, Exchange::kReduceScatter, Axis::kTp, 1, all_rows);
      add(Traffic::kEmbedding, Exchange::kAllGather, Axis::kTp, 1, all_rows);
    }
    count_blocks(stage.range.blocks, tokens, all_rows);
    if (!stage.range.head) return;
    add(Traffic::kHead, Exchange::kAllGather, Axis::kTp, 1, all_rows);
    add(Traffic::kHead, Exchange::kReduceScatter, Axis::kTp, 1, all_rows);
    // The largest scores; then sums of exponentials and chosen scores together.
    add(Traffic::kHead, Exchange::kAllReduce, Axis::kTp, 1, tokens * work_.bytes.wide);
    add(Traffic::kHead, Exchange::kAllReduce, Axis::kTp, 1, 2 * tokens * work_.bytes.wide);
  }

  void count_neighbours(const StageWork& stage, int64_t bytes) {
    if (!stage.range.embedding) {
      add(Traffic::kActivations, Exchange::kReceive, Axis::kPp, 1, bytes);
      add(Traffic::kActivationGradients, Exchange::kSend, Axis::kPp, 1, bytes);
    }
    if (!stage.range.head) {
      add(Traffic::kActivations, Exchange::kSend, Axis::kPp, 1, bytes);
      add(Traffic::kActivationGradients, Exchange::kReceive, Axis::kPp, 1, bytes);
    }
  }

  // A block has two pairs of matrices. Forward each gathers rows in front and adds them up behind; backward the
  // gradient goes the same way, and the rows in front are gathered again.
  void count_blocks(int64_t blocks, int64_t tokens, int64_t all_rows) {
    const ModelConfig& model = config_.model;
    const int64_t forwards = config_.train.recompute == config::Recompute::kFull ? 2 : 1;
    add(Traffic::kTensorActivations, Exchange::kAllGather, Axis::kTp, blocks * 2 * (forwards + 2),
        all_rows);
    add(Traffic::kTensorActivations, Exchange::kReduceScatter, Axis::kTp,
        blocks * 2 * (forwards + 1), all_rows);
    if (model.num_kv_heads() < tp_) {
      const int64_t features =
          blueprint::largest_share(model.num_kv_heads() * model.features_per_head(), tp_) * tp_;
      const int64_t bytes = 2 * tokens * features * work_.bytes.compute;
      add(Traffic::kKeysAndValues, Exchange::kAllGather, Axis::kTp, blocks * forwards, bytes);
      add(Traffic::kKeysAndValues, Exchange::kReduceScatter, Axis::kTp, blocks, bytes);
    }
    if (model.qk_norm == config::QkNorm::kWidth)
      add(Traffic::kQkNorm, Exchange::kAllReduce, Axis::kTp, blocks * 2 * (forwards + 1),
          tokens * work_.bytes.wide);
  }

  // ---- one number of each rank ----

  void count_scalars() {
    add(Traffic::kTargets, Exchange::kAllReduce, kDataAxes, 1, sizeof(int64_t));
    add(Traffic::kLoss, Exchange::kAllReduce, kLossAxes, 1, work_.bytes.wide);
    add(Traffic::kNorm, Exchange::kAllReduce, weight_axes(config_.parallel), 1,
        work_.bytes.gradient);
  }

  // ---- matrices that are made whole ----

  // Every part goes to the rank that turns its matrix, and back.
  void count_matrices() {
    const AxisSet axes = matrix_axes(config_.parallel);
    const int self = mesh_.position(rank_, axes);
    for (const MatrixRound& round : matrix_rounds(config_, mesh_, rank_)) {
      for (size_t owner = 0; owner < round.size(); ++owner) {
        for (const MatrixPart& part : round[owner].parts) {
          const bool mine = part.rank == self;
          if (mine == (static_cast<int>(owner) == self)) continue;
          const int64_t bytes = part.count * work_.bytes.gradient;
          add(Traffic::kMatrices, Exchange::kSend, axes, 1, bytes);
          add(Traffic::kMatrices, Exchange::kReceive, axes, 1, bytes);
        }
      }
    }
  }

  const RunConfig& config_;
  const Mesh& mesh_;
  int rank_;
  RankWork work_;
  int tp_;
  std::map<std::tuple<Traffic, Exchange>, Volume> volumes_;
};

}  // namespace

std::string_view traffic_name(Traffic traffic) {
  return kTrafficNames[static_cast<size_t>(traffic)];
}

std::string_view exchange_name(Exchange exchange) {
  return kExchangeNames[static_cast<size_t>(exchange)];
}

std::vector<Volume> volume_of_step(const RunConfig& config, const Mesh& mesh, int rank) {
  return Counter(config, mesh, rank).count();
}

double sent_bytes(const Volume& volume) {
  const auto bytes = static_cast<double>(volume.bytes);
  const double others = (volume.ranks - 1.0) / volume.ranks;
  switch (volume.exchange) {
    case Exchange::kAllGather:
    case Exchange::kReduceScatter:
      return bytes * others;
    case Exchange::kAllReduce:
      return 2 * bytes * others;
    case Exchange::kSend:
      return bytes;
    case Exchange::kReceive:
      return 0;
  }
  throw BugError("no such exchange");
}

}  // namespace shoal::plan
