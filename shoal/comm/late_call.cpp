#include "shoal/comm/late_call.h"

#include <utility>

#include "shoal/core/activity.h"

namespace shoal::comm {
namespace {

bool is_transfer(const Call& call) { return call.op == Op::kSend || call.op == Op::kRecv; }

}  // namespace

std::string describe(const Call& call, const GroupSpec& group) {
  if (is_transfer(call)) {
    return format("{} '{}' {} rank {} on {}", op_name(call.op), call.what,
                  call.op == Op::kSend ? "to" : "from", group.ranks[static_cast<size_t>(call.peer)],
                  group.name);
  }
  return format("{} '{}' on {} ({} ranks)", op_name(call.op), call.what, group.name, group.size());
}

LateCall::LateCall(Call call, const GroupState& state)
    : call_(std::move(call)),
      group_(state.spec),
      world_rank_(state.world_rank),
      within_(Activity::current()),
      roll_call_(state.roll_call) {}

bool LateCall::names_its_peer() const { return is_transfer(call_); }

void LateCall::sign() {
  if (signed_ || !roll_call_) return;
  roll_call_->sign();
  signed_ = true;
}

void LateCall::passed() {
  if (signed_) roll_call_->leave();
  signed_ = false;
}

PeerLost LateCall::lost(Duration waited) {
  sign();
  const std::string missing =
      signed_ && !names_its_peer() ? "; " + roll_call_->missing(group_, call_) : std::string();
  const std::string number = is_transfer(call_) ? "" : format(", call {}", call_.sequence);
  return PeerLost(format("rank {}: {} in {}{}{}{}", world_rank_, format_duration(waited),
                         describe(call_, group_), number, within_.empty() ? "" : " of " + within_,
                         missing));
}

}  // namespace shoal::comm
