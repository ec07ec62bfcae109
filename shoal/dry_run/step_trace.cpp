#include "shoal/dry_run/step_trace.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "shoal/core/format.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/volume.h"

namespace shoal::dry_run {
namespace {

using comm::Call;
using plan::Operation;

// A call as both sides have it, to compare.
struct Sent {
  std::string exchange;
  std::string group;
  int ranks = 1;
  int64_t bytes = 0;

  auto operator<=>(const Sent&) const = default;

  [[nodiscard]] std::string text() const {
    return format("{} over the {} ranks of {} with {} bytes", exchange, ranks, group, bytes);
  }
};

using Traffic = std::vector<Sent>;

bool is_sent(int ranks, int64_t bytes) { return ranks > 1 && bytes > 0; }

Traffic planned_calls(const plan::RankPlan& plan, const Operation& operation) {
  Traffic calls;
  for (const plan::OperationCall& call : plan::calls_of(plan, operation)) {
    if (is_sent(plan.ranks(call.axes), call.bytes))
      calls.push_back({std::string(blueprint::exchange_name(call.exchange)),
                       plan.mesh.crowded(call.axes).name(), plan.ranks(call.axes), call.bytes});
  }
  return calls;
}

Traffic made_calls(const std::vector<Call>& calls) {
  Traffic made;
  for (const Call& call : calls) {
    if (is_sent(call.group_size, call.bytes))
      made.push_back(
          {std::string(comm::op_name(call.op)), call.group, call.group_size, call.bytes});
  }
  return made;
}

// Returns the calls of `a` that `b` has not.
Traffic without(Traffic a, Traffic b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Traffic left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

std::optional<std::string> difference_of_calls(const Traffic& planned, const Traffic& made) {
  const Traffic missing = without(planned, made);
  const Traffic more = without(made, planned);
  if (!missing.empty() && !more.empty())
    return format("the program says {}, and the step made {}", missing.front().text(),
                  more.front().text());
  if (!missing.empty())
    return format("the program says {}, which the step did not make", missing.front().text());
  if (!more.empty())
    return format("the step made {}, of which the program says nothing", more.front().text());
  return std::nullopt;
}

std::vector<GroupTraffic> added_up(const Traffic& calls) {
  std::map<std::string, GroupTraffic> groups;
  for (const Sent& call : calls) {
    GroupTraffic& group = groups[call.group];
    group.group = call.group;
    group.ranks = call.ranks;
    ++group.calls;
    group.bytes += call.bytes;
  }
  std::vector<GroupTraffic> all;
  for (const auto& [name, group] : groups) all.push_back(group);
  return all;
}

void append(const Traffic& more, Traffic& all) { all.insert(all.end(), more.begin(), more.end()); }

}  // namespace

void StepTrace::before(const Operation& operation) {
  operations_.push_back({.operation = operation});
  within_ = true;
}

void StepTrace::after(const Operation& /*operation*/) { within_ = false; }

void StepTrace::on_call(const Call& call) {
  (within_ ? operations_.back().calls : others_).push_back(call);
}

void StepTrace::clear() {
  operations_.clear();
  others_.clear();
  within_ = false;
}

std::optional<std::string> first_difference(const plan::RankPlan& plan,
                                            const plan::Program& program,
                                            const StepTrace& trace) {
  const std::vector<StepTrace::Done>& done = trace.operations();
  const bool whole = !trace.is_broken_off();
  for (size_t i = 0; i < std::max(whole ? program.size() : 0, done.size()); ++i) {
    if (i >= done.size())
      return format("operation {}: the program says {}, and the step had ended", i,
                    plan::describe(plan, program[i]));
    if (i >= program.size())
      return format("operation {}: the program has ended, and the step ran {}", i,
                    plan::describe(plan, done[i].operation));
    if (program[i] != done[i].operation)
      return format("operation {}: the program says {}, and the step ran {}", i,
                    plan::describe(plan, program[i]), plan::describe(plan, done[i].operation));
    if (!whole && i + 1 == done.size()) return std::nullopt;
    if (const auto calls =
            difference_of_calls(planned_calls(plan, program[i]), made_calls(done[i].calls)))
      return format("operation {}, {}: {}", i, plan::describe(plan, program[i]), *calls);
  }
  if (const Traffic others = made_calls(trace.others()); !others.empty())
    return format("the step made {} ('{}') outside of its operations", others.front().text(),
                  trace.others().front().what);
  return std::nullopt;
}

std::vector<GroupTraffic> traffic_of(const plan::RankPlan& plan, const plan::Program& program) {
  Traffic all;
  for (const Operation& operation : program) append(planned_calls(plan, operation), all);
  return added_up(all);
}

std::vector<GroupTraffic> traffic_of(const StepTrace& trace) {
  Traffic all = made_calls(trace.others());
  for (const StepTrace::Done& done : trace.operations()) append(made_calls(done.calls), all);
  return added_up(all);
}

}  // namespace shoal::dry_run
