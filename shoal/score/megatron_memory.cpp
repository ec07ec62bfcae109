#include "shoal/score/megatron_memory.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/score/parameters.h"

namespace shoal::score {
namespace {

using blueprint::UnitActivations;
using config::ModelConfig;
using plan::Operation;
using plan::RankPlan;

constexpr int64_t kHalf = 2;
constexpr int64_t kWide = 4;
constexpr int64_t kMiB = int64_t{1} << 20;

// The tensors of a block, in bytes.
struct Tensors {
  int64_t rows = 0;   // hidden states of the rows that this rank has
  int64_t masks = 0;  // of dropout, after attention or MLP
  int64_t statistics = 0;
  int64_t qkv = 0;
  int64_t attended = 0;  // with what its backward pass needs
  int64_t up = 0;
  int64_t hidden = 0;
  int64_t logits = 0;    // half precision
  int64_t gathered = 0;  // hidden states of all rows, and the head's gradient of its input
  int64_t matrix = 0;    // of the head or the embedding, half precision
  int64_t mask = 0;      // which positions may look at which
};

Tensors tensors_of(const RankPlan& plan, int micro_batch, const Setup& setup) {
  const ModelConfig& model = plan.config.model;
  const blueprint::PassShape pass = plan.shape_of(micro_batch);
  const blueprint::LocalHeads local =
      blueprint::local_heads(model.heads, model.num_kv_heads(), pass.tensor_place);
  const int64_t tokens = pass.sequences * model.context;
  const int64_t own =
      setup.sequence_parallel ? blueprint::largest_share(tokens, pass.tensor_place.ranks) : tokens;
  const int64_t head = model.features_per_head();
  const int64_t hidden = blueprint::share_of(model.hidden_width(), pass.tensor_place).count;
  Tensors found;
  found.rows = own * model.width * kHalf;
  found.masks = setup.dropout > 0 ? own * model.width : 0;
  found.statistics = (model.norm == config::NormKind::kRms ? 1 : 2) * own * kWide;
  found.qkv = tokens * (local.heads + 2 * local.kv_heads) * head * kHalf;
  found.attended = tokens * local.heads * head * kHalf;
  if (setup.flash_attention) {
    found.attended += tokens * local.heads * kWide;  // sums of exponentials
  } else if (plan.config.train.recompute != config::Recompute::kSelective) {
    // Softmax, mask, and what it left.
    found.attended +=
        tokens * local.heads * model.context * (setup.dropout > 0 ? 2 * kHalf + 1 : kHalf);
  }
  if (setup.context_ranks > 1) {
    // Beside what the projection keeps: the result in front of the all-to-all (out_part), or the keys and values
    // that went round (p2p_comm_buffers).
    found.attended += setup.context_by_heads ? tokens * local.heads * head * kHalf
                                             : tokens * 2 * local.kv_heads * head * kHalf;
  }
  found.hidden = tokens * hidden * kHalf;
  found.up = found.hidden * (model.activation == config::Activation::kSwiglu ? 2 : 1);
  const int64_t classes = blueprint::share_of(*model.vocab_size, pass.tensor_place).count;
  found.logits = tokens * classes * kHalf;
  found.gathered = tokens * model.width * kHalf;
  found.matrix = classes * model.width * kHalf;
  found.mask = setup.attention_mask ? tokens * model.context * setup.context_ranks : 0;
  return found;
}

// Parameters of one block after the tensor split, of its matrices alone.
int64_t matrices_of_a_block(const RankPlan& plan) {
  for (const plan::StagePlan& stage : plan.stages)
    for (const blueprint::UnitBlueprint& unit : stage.units) {
      if (unit.kind != config::UnitKind::kBlock) continue;
      int64_t elements = 0;
      for (const blueprint::WeightSpec& weight : unit.weights)
        if (weight.is_matrix()) elements += weight.local_elements();
      return elements;
    }
  return 0;
}

// Workspaces of cuBLAS, 32 MiB each on Hopper and later, or with CUBLAS_WORKSPACE_CONFIG=:4096:8. Transformer
// Engine has one, of 4 MiB on older devices. How many torch has beside it, two or four, is the one thing here that
// was read from measurements: what rows 13, 15 and 39 of mci hold between steps beside their parameters, to 8 KB.
int64_t workspaces(const Setup& setup) {
  const bool engine = setup.engine != "megatron-local";
  const bool old = setup.gpu.starts_with("A100");
  return engine ? (64 + (old ? 4 : 32)) * kMiB : 128 * kMiB;
}

UnitActivations head_of(const Tensors& t, const Setup& setup) {
  // The head's linear layer goes backward with the gradients of the logits, of its input (of all rows, and then of
  // this rank's) and of its matrix, which is a dummy when gradients are fused.
  const int64_t linear = t.logits + t.gathered + (setup.sequence_parallel ? t.rows : 0) + t.matrix;
  UnitActivations found{.inside = t.rows + t.statistics + t.mask};
  switch (setup.loss) {
    case LossKind::kFused:
      found.inside += t.logits;
      found.backward = linear - t.logits;
      return found;
    case LossKind::kPlain:
      found.forward = t.logits;
      break;
    case LossKind::kJit:
      found.forward = 3 * t.logits;
      break;
  }
  const int64_t softmax = 2 * t.logits;  // fp32
  found.inside += softmax;
  found.backward = std::max(t.logits, linear - softmax);
  return found;
}

}  // namespace

plan::Memory MegatronRules::state(const RankPlan& plan) const {
  const int64_t parameters = parameters_of(plan);
  const int64_t shards = plan.ranks(plan.shards);
  const int64_t shard = (parameters + shards - 1) / shards;
  const bool all = plan.config.parallel.sharding == config::Sharding::kFullShard;
  plan::Memory memory;
  memory.weights = (all ? shard : parameters) * kHalf;
  // fp32 sums with bf16. With fp16, sums in fp16 and a copy of the shard in fp32 for the update.
  memory.gradients = setup_.fp16 ? (all ? shard : parameters) * kHalf + shard * kWide
                                 : (all ? shard : parameters) * kWide;
  memory.masters = shard * kWide;
  memory.optimizer = 2 * shard * kWide;
  memory.activations = workspaces(setup_);
  // With fused gradient accumulation, Transformer Engine from 2.3 on keeps one dummy gradient for each shape of a
  // weight, to hand it to autograd (get_dummy_wgrad).
  if (setup_.dummy_gradients) memory.activations += matrices_of_a_block(plan) * kHalf;
  // Where ranks gather the rows of the head's input; it is never freed (get_global_memory_buffer).
  if (setup_.sequence_parallel && plan.tensor_place.ranks > 1 && plan.stages.back().range.head)
    memory.activations += tensors_of(plan, 0, setup_).gathered;
  return memory;
}

UnitActivations MegatronRules::kept(const RankPlan& plan, const Operation& operation) const {
  const Tensors t = tensors_of(plan, operation.micro_batch, setup_);
  const plan::StagePlan& stage = plan.stage(operation.chunk);
  switch (plan::unit_of(plan, operation).kind) {
    case config::UnitKind::kEmbedding:
      // The gradient of the matrix is made in half precision, then added to the sum.
      return {.output = t.rows,
              .inside = t.masks + (stage.range.head ? 0 : t.mask),
              .forward = t.rows,
              .backward = t.matrix};
    case config::UnitKind::kBlock: {
      UnitActivations found;
      // The output of a stage is freed when it has been sent (deallocate_pipeline_outputs).
      const bool sent =
          !stage.range.head && static_cast<size_t>(operation.index) + 1 == stage.units.size();
      found.output = sent ? 0 : t.rows;
      found.inside =
          3 * t.rows + 2 * t.statistics + 2 * t.masks + t.qkv + t.attended + t.up + t.hidden;
      found.forward = 2 * t.rows;
      found.backward = t.up + (sent ? t.rows : 0);
      return found;
    }
    case config::UnitKind::kHead:
      return head_of(t, setup_);
  }
  throw BugError("no such unit");
}

UnitActivations MegatronRules::not_kept(const RankPlan& plan, const Operation& operation) const {
  const Tensors t = tensors_of(plan, operation.micro_batch, setup_);
  return {.output = t.rows, .forward = 2 * t.rows + t.up + t.hidden};
}

int64_t MegatronRules::transferred(const RankPlan& plan, int micro_batch) const {
  return tensors_of(plan, micro_batch, setup_).rows;
}

bool MegatronRules::holds_whole_gradients(const RankPlan& plan) const {
  return plan.config.parallel.sharding == config::Sharding::kOptimizer;
}

int64_t MegatronRules::held(const RankPlan& plan) const {
  int64_t inputs = 0;
  for (const plan::StagePlan& stage : plan.stages)
    if (!stage.range.embedding) inputs += 2 * transferred(plan, 0);
  return state(plan).peak() + inputs;
}

}  // namespace shoal::score
