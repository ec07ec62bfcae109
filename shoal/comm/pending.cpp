#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "shoal/comm/flight.h"
#include "shoal/comm/group.h"
#include "shoal/comm/late_call.h"
#include "shoal/comm/stream_watch.h"
#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::comm {
namespace {

// How long a wait goes on after its connections were broken off.
constexpr Duration kPollInterval = std::chrono::milliseconds(200);
constexpr const char* kBrokenOff = "the connections were shut down";

// What a library says, without the place in its source in front and its advice behind.
std::string reason_in(const std::exception& error) {
  std::string text = first_line(error);
  const size_t place = text.find("] ");
  if (text.starts_with('[') && place != std::string::npos) text.erase(0, place + 2);
  return text.substr(0, text.find(". This is typically"));
}

// Waits for one Flight, and puts what goes wrong into words.
class Watch {
 public:
  Watch(const Flight& flight, Duration deadline)
      : call_(flight.call, *flight.state),
        state_(*flight.state),
        flight_began_(flight.began),
        deadline_(deadline) {}

  // For a work whose completion the host can see.
  void wait(c10d::Work& work) {
    if (call_.names_its_peer()) return wait_for_transfer(work);
    for (;;) {
      if (since(began_) >= deadline_ / 2) call_.sign();
      const bool over = work.isCompleted();
      try {
        work.wait(std::clamp(deadline_ - since(began_), Duration(1), kPollInterval));
        call_.passed();
        return;
      } catch (const BugError&) {
        throw_wrong();
      } catch (const std::exception& e) {
        if (over) throw_broken(e);         // what the call itself has thrown
        if (work.isCompleted()) continue;  // meanwhile: the next wait says how
        if (since(began_) >= deadline_) throw_broken(e);
        // Gloo does not end a call whose messages are half sent or received when a connection is lost.
        if (state_.job->broken_off) throw_broken(std::runtime_error(kBrokenOff));
      }
    }
  }

  // For a work that runs on a device stream, where its wait() would only order streams.
  void poll(c10d::Work& work) {
    Duration pause(0);
    while (!work.isCompleted()) {
      if (since(began_) >= deadline_ / 2) call_.sign();
      if (since(began_) >= deadline_) throw_late();
      std::this_thread::sleep_for(pause);
      pause = std::min(pause + Duration(1), Duration(20));
    }
    call_.passed();
    order(work);
  }

  // Makes the current stream wait.
  void order(c10d::Work& work) {
    try {
      work.wait();
    } catch (const std::exception& e) {
      throw_broken(e);
    }
  }

 private:
  // It cannot be waited for twice.
  void wait_for_transfer(c10d::Work& work) {
    const JobHealth::Abortable abortable(*state_.job, work);
    bool over = false;
    try {
      over = work.wait(std::max(deadline_ - since(began_), Duration(1)));
      call_.passed();
    } catch (const BugError&) {
      throw_wrong();
    } catch (const std::exception& e) {
      throw_broken(e);
    }
    if (!over) throw_broken(std::runtime_error(kBrokenOff));
  }

  [[noreturn]] void throw_late() {
    const Duration waited = since(began_);
    state_.fail();
    throw call_.lost(waited);
  }

  // The call itself is wrong, and would be after another start.
  [[noreturn]] void throw_wrong() {
    state_.fail();
    throw;
  }

  [[noreturn]] void throw_broken(const std::exception& reason) {
    // The library underneath has a clock of its own, which began when the call did.
    if (since(began_) >= deadline_ || since(flight_began_) >= state_.deadline) throw_late();
    state_.fail();
    state_.sign_off();
    throw PeerLost(format("rank {}: a peer is gone in {}: {}", state_.world_rank,
                          describe(call_.call(), state_.spec), reason_in(reason)));
  }

  LateCall call_;
  GroupState& state_;
  Clock::time_point flight_began_;
  Duration deadline_;
  Clock::time_point began_ = Clock::now();
};

// Tells the listener of the wait for one Flight, if there is one.
class ToldWait {
 public:
  explicit ToldWait(Flight& flight) : flight_(flight), listener_(*flight.state->listener) {
    if (listener_ != nullptr) listener_->before_wait(flight_.call);
  }

  // The wait is over, and has not failed.
  void over() {
    if (listener_ == nullptr) return;
    const bool timed = flight_.end.has_value();
    listener_->after_wait(flight_.call,
                          timed ? flight_.end->take() : Moment::now(flight_.state->device));
  }

 private:
  Flight& flight_;
  CallListener* const listener_;
};

}  // namespace

Pending::Pending() = default;

Pending::Pending(std::unique_ptr<Flight> flight) : flight_(std::move(flight)) {}

Pending::Pending(Pending&& other) noexcept = default;

Pending& Pending::operator=(Pending&& other) noexcept {
  if (this != &other) {
    drop();
    flight_ = std::move(other.flight_);
  }
  return *this;
}

Pending::~Pending() { drop(); }

void Pending::drop() {
  // On the way out of an error nobody waits.
  if (!flight_ || std::uncaught_exceptions() > 0 || flight_->state->job->broken_off) return;
  const std::string text = describe(flight_->call, flight_->state->spec);
#ifdef SHOAL_DEV_CHECKS
  log::error("{} was dropped without waiting for it", text);
  std::abort();
#else
  log::error("bug: {} was dropped without waiting for it", text);
#endif
}

// Where one call has failed others may hang as long, one after the other, and nobody would hear of the first. What is
// still under way keeps its tensors.
void Pending::refuse_to_wait() {
  const std::shared_ptr<JobHealth> job = flight_->state->job;
  if (!job->broken || done()) return;
  const std::string text =
      format("rank {}: {} is not waited for: another call has failed", flight_->state->world_rank,
             describe(flight_->call, flight_->state->spec));
  job->leave_behind(std::move(flight_));
  throw PeerLost(text);
}

void Pending::wait() {
  if (!flight_) return;
  refuse_to_wait();
  if (!flight_->state->on_streams()) {
    wait_host();
    return;
  }
  const std::unique_ptr<Flight> flight = std::move(flight_);
  ToldWait told(*flight);
  Watch watch(*flight, flight->state->deadline);
  for (const auto& work : flight->works) watch.order(*work);
  told.over();
  flight->state->stream_watch->follow(LateCall(flight->call, *flight->state));
}

void Pending::wait_host() {
  if (flight_) wait_host(flight_->state->deadline);
}

void Pending::wait_host(Duration deadline) {
  if (!flight_) return;
  refuse_to_wait();
  const std::unique_ptr<Flight> flight = std::move(flight_);
  const GroupState& state = *flight->state;
  const Call& call = flight->call;
  Watch watch(*flight, deadline);  // before the activity: it keeps what this one is part of
  const Activity doing(
      Activity::is_seen() ? format("in {} '{}' on {}", op_name(call.op), call.what, state.spec.name)
                          : std::string(),
      Pace::kOthers);
  ToldWait told(*flight);
  for (const auto& work : flight->works) {
    if (state.on_streams()) {
      watch.poll(*work);
    } else {
      watch.wait(*work);
    }
  }
  told.over();
}

bool Pending::done() const {
  if (!flight_) return true;
  for (const auto& work : flight_->works) {
    if (!work->isCompleted()) return false;
  }
  return true;
}

}  // namespace shoal::comm
