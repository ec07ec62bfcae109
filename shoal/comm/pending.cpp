#include <cstdlib>
#include <exception>
#include <thread>

#include "shoal/comm/flight.h"
#include "shoal/comm/group.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::comm {
namespace {

// "all_reduce 'gradients' on dp_shard (4 ranks)", "recv 'activations' from rank 5 on pp"
std::string describe(const Call& call, const GroupSpec& group) {
  if (call.op == Op::kSend || call.op == Op::kRecv) {
    return format("{} '{}' {} rank {} on {}", op_name(call.op), call.what,
                  call.op == Op::kSend ? "to" : "from", group.ranks[static_cast<size_t>(call.peer)],
                  group.name);
  }
  return format("{} '{}' on {} ({} ranks)", op_name(call.op), call.what, group.name, group.size());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

[[noreturn]] void throw_late(const Call& call, const GroupState& state, Duration waited) {
  std::string missing = state.roll_call ? state.roll_call(state.spec, call) : "";
  throw PeerLost(format("rank {}: {} in {}{}{}", state.world_rank, format_duration(waited),
                        describe(call, state.spec), missing.empty() ? "" : "; ", missing));
}

[[noreturn]] void throw_broken(const Call& call,
                               const GroupState& state,
                               const std::exception& reason) {
  throw PeerLost(format("rank {}: a peer is gone in {}: {}", state.world_rank,
                        describe(call, state.spec), first_line(reason.what())));
}

Duration since(Clock::time_point began) {
  return std::chrono::round<Duration>(Clock::now() - began);
}

// Blocks on a work whose completion the host can see.
void wait_for(c10d::Work& work,
              const Call& call,
              const GroupState& state,
              Duration deadline,
              Clock::time_point began) {
  const Duration left = std::max(deadline - since(began), Duration(1));
  try {
    work.wait(left);
  } catch (const std::exception& e) {
    if (since(began) >= deadline) throw_late(call, state, since(began));
    throw_broken(call, state, e);
  }
}

// Watches a work that runs on a device stream, where wait() would only order streams.
void poll_for(c10d::Work& work,
              const Call& call,
              const GroupState& state,
              Duration deadline,
              Clock::time_point began) {
  Duration pause(0);
  while (!work.isCompleted()) {
    if (since(began) >= deadline) throw_late(call, state, since(began));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause + Duration(1), Duration(20));
  }
  try {
    work.wait();
  } catch (const std::exception& e) {
    throw_broken(call, state, e);
  }
}

}  // namespace

Pending::Pending() = default;

Pending::Pending(std::unique_ptr<Flight> flight) : flight_(std::move(flight)) {}

Pending::Pending(Pending&& other) noexcept = default;

Pending& Pending::operator=(Pending&& other) noexcept = default;

Pending::~Pending() {
  // On the way out of an error nobody waits.
  if (!flight_ || std::uncaught_exceptions() > 0) return;
  const std::string text = describe(flight_->call, flight_->state->spec);
#ifdef SHOAL_DEV_CHECKS
  log::error("{} was dropped without waiting for it", text);
  std::abort();
#else
  log::error("bug: {} was dropped without waiting for it", text);
#endif
}

void Pending::wait() {
  if (!flight_) return;
  if (!flight_->state->on_streams) {
    wait_host();
    return;
  }
  const std::unique_ptr<Flight> flight = std::move(flight_);
  for (const auto& work : flight->works) work->wait();
}

void Pending::wait_host() {
  if (flight_) wait_host(flight_->state->deadline);
}

void Pending::wait_host(Duration deadline) {
  if (!flight_) return;
  const std::unique_ptr<Flight> flight = std::move(flight_);
  const GroupState& state = *flight->state;
  const Call& call = flight->call;
  const Activity doing(std::string(op_name(call.op)) + " '" + call.what + "' on " +
                       state.spec.name);
  const Clock::time_point began = Clock::now();
  for (const auto& work : flight->works) {
    if (state.on_streams) {
      poll_for(*work, call, state, deadline, began);
    } else {
      wait_for(*work, call, state, deadline, began);
    }
  }
}

bool Pending::done() const {
  if (!flight_) return true;
  for (const auto& work : flight_->works) {
    if (!work->isCompleted()) return false;
  }
  return true;
}

}  // namespace shoal::comm
