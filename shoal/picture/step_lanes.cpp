#include "shoal/picture/step_lanes.h"

#include <algorithm>
#include <utility>

#include "shoal/core/format.h"
#include "shoal/plan/program_text.h"

namespace shoal::picture {
namespace {

using plan::OpKind;
using plan::Spent;

// Two blocks with less between them touch: sums of seconds have rounding errors.
constexpr double kTouch = 1e-9;
// Intervals of all lanes that are told apart.
constexpr double kMaxIntervals = 4000;

Ink ink_of_operation(OpKind kind) {
  switch (kind) {
    case OpKind::kForward:
      return Ink::kForward;
    case OpKind::kRecompute:
      return Ink::kRecompute;
    case OpKind::kBackward:
    case OpKind::kSumPartial:
    case OpKind::kAwaitReduce:
      return Ink::kBackward;
    case OpKind::kUpdate:
    case OpKind::kExchangeMatrices:
      return Ink::kUpdate;
    default:
      return Ink::kOther;
  }
}

Beside& beside_of(Lane& lane, Spent what) {
  return what == Spent::kWeights     ? lane.gathers
         : what == Spent::kGradients ? lane.reductions
                                     : lane.sends;
}

bool is_waiting(Spent what) { return what == Spent::kWeights || what == Spent::kGradients; }

bool touches(const Block& before, double begin) { return begin - before.end <= kTouch; }

// A sum of partial gradients, and of a micro-batch's gradients, belongs to the pass before it.
bool goes_on(const Block& block, const plan::StepSpan& span) {
  const OpKind kind = span.operation.kind;
  if (is_waiting(span.what)) return true;
  if (kind == OpKind::kSumPartial || kind == OpKind::kAwaitReduce)
    return block.ink == Ink::kBackward;
  return block.ink == ink_of_operation(kind) && block.chunk == span.operation.chunk &&
         block.micro_batch == span.operation.micro_batch && block.unit == span.operation.index;
}

// Returns a block that begins with the span, and is empty.
Block block_of(const plan::StepSpan& span) {
  const plan::Operation& operation = span.operation;
  return {.ink = ink_of_operation(operation.kind),
          .chunk = operation.chunk,
          .micro_batch = operation.micro_batch,
          .unit = operation.index,
          .name = plan::describe(span.plan, operation),
          .begin = span.begin,
          .end = span.begin};
}

// Returns whether a block has done nothing yet but wait for weights.
bool only_leads(const Block& block) { return block.end - block.begin - block.lead <= kTouch; }

bool is_one_pass(const Block& a, const Block& b) {
  return a.ink == b.ink && a.chunk == b.chunk && a.micro_batch == b.micro_batch &&
         touches(a, b.begin);
}

void append(std::vector<Block>& blocks, const Block& block, bool units) {
  if (units || blocks.empty() || !is_one_pass(blocks.back(), block)) {
    blocks.push_back(block);
    if (units || block.ink == Ink::kOther) return;
    blocks.back().unit = -1;
    blocks.back().name =
        block.ink == Ink::kUpdate
            ? std::string("optimizer")
            : format("{} of micro-batch {}", pass_name(block.ink), block.micro_batch);
    return;
  }
  blocks.back().end = block.end;
  for (size_t i = 0; i < block.spent.size(); ++i) blocks.back().spent[i] += block.spent[i];
}

// Returns the part of a block between 0 and `seconds`; what is cut off is taken from all its parts.
Block cut(Block block, double began, double seconds) {
  const double whole = block.end - block.begin;
  block.begin = std::clamp(block.begin - began, 0.0, seconds);
  block.end = std::clamp(block.end - began, 0.0, seconds);
  const double left = (block.end - block.begin) / whole;
  for (double& part : block.spent) part *= left;
  block.lead *= left;
  return block;
}

// Returns intervals with at least `gap` seconds between them.
std::vector<Interval> joined(std::vector<Interval> intervals,
                             const plan::StepTime& time,
                             double gap) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> result;
  for (const auto& [begin, end] : intervals) {
    const double from = std::max(begin - time.began, 0.0);
    const double to = std::min(end - time.began, time.seconds);
    if (to <= from) continue;
    if (!result.empty() && from - result.back().second <= gap) {
      result.back().second = std::max(result.back().second, to);
    } else {
      result.emplace_back(from, to);
    }
  }
  return result;
}

}  // namespace

plan::StepObserver StepRecorder::observer() {
  return [this](const plan::StepSpan& span) { record(span); };
}

void StepRecorder::record(const plan::StepSpan& span) {
  const auto stage = static_cast<size_t>(span.plan.pipeline_rank);
  if (stage >= lanes_.size()) lanes_.resize(stage + 1);
  Lane& lane = lanes_[stage];
  if (span.beside) {
    beside_of(lane, span.what).runs.emplace_back(span.begin, span.end);
    return;
  }
  if (span.what == Spent::kPipeline) return;
  if (is_waiting(span.what)) beside_of(lane, span.what).awaits.emplace_back(span.begin, span.end);
  const bool touching = !lane.blocks.empty() && touches(lane.blocks.back(), span.begin);
  if (touching && only_leads(lane.blocks.back())) {
    const Block before = std::exchange(lane.blocks.back(), block_of(span));
    lane.blocks.back().begin = before.begin;
    lane.blocks.back().lead = before.lead;
    lane.blocks.back().spent = before.spent;
  } else if (!touching || !goes_on(lane.blocks.back(), span)) {
    lane.blocks.push_back(block_of(span));
  }
  Block& block = lane.blocks.back();
  if (span.what == Spent::kWeights && block.end - block.begin <= block.lead + kTouch)
    block.lead += span.end - span.begin;
  block.end = span.end;
  block.spent[static_cast<size_t>(span.what)] += span.end - span.begin;
}

std::vector<Lane> StepRecorder::lanes(const plan::StepTime& time, size_t most) const {
  size_t blocks = 0;
  for (const Lane& lane : lanes_) blocks += lane.blocks.size();
  const size_t drawn = std::min(lanes_.size(), kMaxLanes);
  const double gap = time.seconds * static_cast<double>(drawn) / kMaxIntervals;
  const auto clear = [&](const Beside& beside) {
    return Beside{joined(beside.runs, time, gap), joined(beside.awaits, time, gap)};
  };
  std::vector<Lane> result;
  for (const Lane& lane : lanes_) {
    Lane& cut_lane = result.emplace_back();
    for (const Block& block : lane.blocks) {
      const Block shown = cut(block, time.began, time.seconds);
      if (shown.end > shown.begin) append(cut_lane.blocks, shown, blocks <= most);
    }
    cut_lane.gathers = clear(lane.gathers);
    cut_lane.reductions = clear(lane.reductions);
    cut_lane.sends = clear(lane.sends);
  }
  return result;
}

}  // namespace shoal::picture
