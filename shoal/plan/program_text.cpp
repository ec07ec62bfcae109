#include "shoal/plan/program_text.h"

#include <map>
#include <optional>
#include <tuple>

#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/volume.h"

namespace shoal::plan {
namespace {

// Returns the operation that awaits what `kind` starts.
std::optional<OpKind> await_of(OpKind kind) {
  switch (kind) {
    case OpKind::kReceive:
      return OpKind::kAwaitReceive;
    case OpKind::kSend:
      return OpKind::kAwaitSend;
    case OpKind::kGather:
      return OpKind::kAwaitGather;
    case OpKind::kReduce:
      return OpKind::kAwaitReduce;
    case OpKind::kReduceReplicas:
      return OpKind::kAwaitReplicas;
    default:
      return std::nullopt;
  }
}

std::string group_name(const StagePlan& stage, const GroupPlan& group) {
  const std::string& first = stage.units[group.units.front()].name;
  return group.units.size() == 1 ? first
                                 : format("{}..{}", first, stage.units[group.units.back()].name);
}

// Returns whether the operation's index is valid: an invalid program is printed too, when it is
// checked.
bool is_there(const Operation& operation, size_t count) {
  return operation.index >= 0 && static_cast<size_t>(operation.index) < count;
}

std::string subject_of(const RankPlan& plan, const Operation& operation) {
  const StagePlan& stage = plan.stage(operation.chunk);
  switch (operation.kind) {
    case OpKind::kReceive:
    case OpKind::kAwaitReceive:
    case OpKind::kSend:
    case OpKind::kAwaitSend:
      return operation.pass == Op::kForward ? "activations" : "gradients";
    case OpKind::kForward:
    case OpKind::kRecompute:
    case OpKind::kBackward:
    case OpKind::kSumPartial:
    case OpKind::kExchangeTied:
      return is_there(operation, stage.units.size()) ? unit_of(plan, operation).name
                                                     : format("unit {}", operation.index);
    case OpKind::kExchangeMatrices:
      return format("round {}", operation.index);
    case OpKind::kCountTargets:
    case OpKind::kSumLoss:
    case OpKind::kNorm:
      return "";
    default:
      return is_there(operation, stage.groups.size()) ? group_name(stage, group_at(plan, operation))
                                                      : format("group {}", operation.index);
  }
}

// Returns the traffic of an operation, without what a unit sends inside.
std::string traffic_of(const RankPlan& plan, const Operation& operation) {
  if (computes(operation.kind)) return "";
  const std::vector<OperationCall> calls = calls_of(plan, operation);
  if (calls.empty() || plan.ranks(calls.front().axes) == 1) return "";
  int64_t bytes = 0;
  for (const OperationCall& call : calls) bytes += call.bytes;
  return format("{:<16} {:>10}", plan.mesh.crowded(calls.front().axes).name(), format_bytes(bytes));
}

std::string partner_of(const RankPlan& plan, const Operation& operation) {
  const bool sends = operation.kind == OpKind::kSend;
  if (!sends && operation.kind != OpKind::kReceive) return "";
  const std::vector<int> ranks = plan.mesh.peers(plan.rank, Axis::kPp);
  return format("  {} rank {}", sends ? "to" : "from", ranks[static_cast<size_t>(operation.peer)]);
}

using Started = std::tuple<OpKind, Op, int, int, int>;

Started key_of(OpKind kind, const Operation& operation) {
  const bool transfer = kind == OpKind::kAwaitReceive || kind == OpKind::kAwaitSend;
  return {kind, transfer ? operation.pass : Op::kForward, operation.chunk, operation.index,
          transfer ? operation.micro_batch : 0};
}

// Returns where each operation is awaited; nullopt means in the next step.
std::vector<std::optional<size_t>> awaited_at(const Program& program) {
  std::vector<std::optional<size_t>> places(program.size());
  std::map<Started, size_t> next;
  for (size_t i = program.size(); i-- > 0;) {
    if (const std::optional<OpKind> await = await_of(program[i].kind)) {
      const auto found = next.find(key_of(*await, program[i]));
      if (found != next.end()) places[i] = found->second;
    } else {
      next[key_of(program[i].kind, program[i])] = i;
    }
  }
  return places;
}

std::string without_blanks_behind(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string label(const RankPlan& plan, const Operation& operation) {
  const std::string subject = subject_of(plan, operation);
  return format("{}{}", name_of(operation.kind), subject.empty() ? "" : " " + subject);
}

std::string describe(const RankPlan& plan, const Operation& operation) {
  return label(plan, operation) + (has_micro_batch(operation.kind)
                                       ? format(" of micro-batch {}", operation.micro_batch)
                                       : std::string());
}

std::string describe_group(const RankPlan& plan, const Operation& operation) {
  return group_name(plan.stage(operation.chunk), group_at(plan, operation));
}

std::string to_text(const RankPlan& plan, const Program& program) {
  const std::vector<std::optional<size_t>> awaited = awaited_at(program);
  std::string text;
  for (size_t i = 0; i < program.size(); ++i) {
    const Operation& operation = program[i];
    std::string line = format(
        "{:>6}  {:<17} {:<22} {:<7} {:<27}{}", i, name_of(operation.kind),
        subject_of(plan, operation),
        has_micro_batch(operation.kind) ? format("mb {}", operation.micro_batch) : std::string(),
        traffic_of(plan, operation), partner_of(plan, operation));
    if (await_of(operation.kind))
      line += awaited[i] ? format("  until {}", *awaited[i]) : "  until the next step";
    if (operation.kind == OpKind::kForward && operation.keeps == Keeps::kInput)
      line += "keeps its input";
    text += without_blanks_behind(line) + "\n";
  }
  return text;
}

}  // namespace shoal::plan
